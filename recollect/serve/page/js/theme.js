// The theme: light, dark, or as the system prefers.
import { h, toast } from "./dom.js";

const ORDER = ["", "light", "dark"];

export const themeButton = (look = "") => h("button", { type: "button", class: look, onclick: switchTheme, title: "Light, dark, or as the system" }, "Theme");

function switchTheme() {
  const next = ORDER[(ORDER.indexOf(localStorage.getItem("theme") || "") + 1) % ORDER.length];
  localStorage.setItem("theme", next);
  applyTheme();
  toast(next ? `Theme: ${next}` : "Theme: as the system");
}

export function applyTheme() {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
