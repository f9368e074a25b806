"""Words of everyday topics in German and Chinese: a question for a restaurant is answered by what was eaten there.

In a language that the embedder was trained on, it relates such words itself. The local model was not trained on these
two: only equal words would be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from recollect.text.words import stems

LANGUAGES = ("de", "zh")
# One topic after another: a line of German words, then a line of Chinese ones.
TOPICS = """
restaurant lokal kneipe gaststätte gasthaus café imbiss pizzeria essen gegessen mittagessen abendessen frühstück kellner
餐馆 餐厅 饭馆 馆子 饭店 小吃 吃饭 吃了 菜单 服务员 厨师 午饭 晚饭 好吃 难吃
arzt ärztin hausarzt hausärztin praxis klinik krankenhaus untersuchung chirurg doktor
医生 大夫 医院 诊所 门诊 看病 体检 挂号
zahnarzt zahnärztin zahn zähne krone füllung zahnspange kieferorthopäde
牙医 牙齿 补牙 拔牙 牙科 智齿
medikament tabletten tablette pille dosis arznei rezept
药 药片 吃药 剂量 毫克 处方 用药
krank krankheit erkältung erkältet grippe fieber husten schnupfen kopfschmerzen
生病 感冒 发烧 咳嗽 头疼 不舒服 病了
verletzt verletzung gebrochen bruch gestürzt sturz unfall verstaucht gips
受伤 骨折 摔 摔倒 摔了 扭伤 事故 车祸
allergie allergisch unverträglich unverträglichkeit vertrage verträgt
过敏 不能吃 不吃 忌口
lebensmittel nahrung nahrungsmittel zutat essen esse isst nuss nüsse fleisch gemüse vegetarisch vegan
食物 食品 吃的 配料 做菜 做饭 蔬菜 肉 不吃
süß süßes süßigkeit zucker kuchen torte schokolade nachtisch eis
甜食 甜品 甜的 糖 蛋糕 巧克力 冰淇淋
getränk trinken trinke kaffee tee bier wein saft
饮料 喝 喝的 咖啡 喝茶 啤酒 果汁
gehalt lohn verdienen verdient verdiene einkommen brutto netto gehaltserhöhung
工资 薪水 收入 奖金 加薪 月薪
preis kosten kostet gekostet bezahlt zahlen teuer billig euro rechnung gebühr
价格 价钱 花了 多少钱 费用 贵 便宜 欧 块钱 付了
schulden leihen geliehen borgen geborgt kredit darlehen zurückzahlen
借 借了 欠 欠款 贷款 还钱
bank konto überweisung überwiesen sparen gespart erspartes
银行 账户 转账 存款 存钱
versicherung versichert police haftpflicht hausrat krankenkasse
保险 投保 理赔 医保
steuer steuern finanzamt steuererklärung
税 报税 退税 税务
miete warmmiete kaltmiete vermieter vermieterin kaution mietvertrag warm kalt
房租 租金 房东 押金 租约 合同
wohnung haus zimmer zuhause wohnen umzug umziehen umgezogen einzug auszug stockwerk
房子 公寓 宿舍 房间 住 住处 搬家 搬到
möbel sofa tisch schrank bett regal stuhl
家具 沙发 桌子 柜子 床 书架 椅子
urlaub ferien reise reisen verreist gereist strand ausflug
旅游 旅行 度假 去玩 游玩 假期 出去玩
unterkunft hotel pension ferienwohnung hostel herberge übernachtung übernachtet
住宿 酒店 民宿 旅馆 宾馆 青旅
flug fliegen geflogen flughafen flugzeug ticket
航班 飞机 机票 机场 飞
zug bahn bus straßenbahn haltestelle fahrkarte bahnhof
火车 高铁 地铁 公交 大巴 车票 车站
auto wagen fahrzeug pkw führerschein
汽车 车 开车 买车 驾照
fahrrad rad radfahren drahtesel
自行车 单车 骑车
arbeit job stelle beruf firma arbeitgeber büro beworben bewerbung vorstellungsgespräch angestellt
工作 职位 公司 上班 职业 申请 面试 录用 单位
chef chefin leiter leiterin leitung vorgesetzter boss
老板 领导 主管 经理 导师
beförderung befördert leitung aufstieg karriere
升职 晋升 提拔
kündigung gekündigt entlassen aufgehört
辞职 离职 裁员 解雇
kollege kollegin mitarbeiter mitarbeiterin
同事 搭档
besprechung sitzung meeting termin treffen verabredung
会议 开会 组会 会面 约
mitbewohner mitbewohnerin wg
室友 合租
nachbar nachbarin nebenan
邻居 隔壁
mutter mama mutti
妈妈 母亲 妈
vater papa
爸爸 父亲 爸
großmutter oma omi
奶奶 外婆 姥姥
großvater opa opi
爷爷 外公 姥爷
bruder schwester geschwister
哥哥 弟弟 姐姐 妹妹 兄弟
kind kinder sohn tochter baby schwanger geburt geboren
孩子 儿子 女儿 宝宝 怀孕 出生
partner freund freundin beziehung zusammen getrennt trennung
男朋友 女朋友 对象 恋爱 分手
hochzeit heiraten heirate heiratet trauung verlobt verlobung ehe standesamt
结婚 婚礼 订婚 求婚
tod gestorben verstorben beerdigung
去世 过世 葬礼
geburtstag feier fest party feiern gefeiert gäste
生日 聚会 派对 庆祝
geschenk geschenkt schenken schenkte bekommen
礼物 送 送了 送我 红包
buch roman lesen gelesen lektüre autor
书 小说 看书 读 读了 作者
film kino serie gesehen geschaut
电影 影院 电视剧 看了
musik instrument klavier gitarre geige lied konzert chor
音乐 乐器 钢琴 吉他 小提琴 演唱会
sport training laufen joggen yoga schwimmen fitness verein
运动 锻炼 健身 跑步 瑜伽 游泳
hobby freizeit basteln malen fotografieren
爱好 业余 画画 摄影
reparatur reparieren repariert kaputt defekt werkstatt handwerker monteur
修 修理 维修 坏 坏了 换了 故障 毛病 问题
klempner installateur heizung rohr wasserhahn undicht
水管工 暖气 热水器 漏水
strom stromausfall sicherung licht lampe
电 停电 断电 电灯
werkzeug säge bohrmaschine hammer zange schraubenzieher
工具 锯 电钻 锤子 螺丝刀
kleidung kleid jacke mantel schuhe hemd hose größe passt
衣服 外套 羽绒服 裤子 鞋 裙子 合身 尺码
brille kontaktlinsen optiker augen sehstärke
眼镜 配镜 近视 度数
haare friseur frisur haarschnitt
头发 理发 剪头发
handy telefon handynummer nummer rufnummer
手机 电话 手机号 号码
computer laptop rechner notebook passwort
电脑 笔记本 密码
gestohlen diebstahl geklaut einbruch polizei
被偷 偷了 小偷 警察 报警
verloren vergessen verlegt liegengelassen fundbüro
丢 丢了 弄丢 忘了 落在 失物
haustier katze kater hund hündin tierarzt
宠物 猫 狗 兽医
garten pflanze balkon beet blumen
花园 植物 阳台 花
wetter regen sonne schnee gewitter sturm
天气 下雨 晴天 下雪 暴雨
prüfung test klausur bestanden durchgefallen note
考试 考过 通过 没过 分 成绩
schule kindergarten kita lehrer lehrerin unterricht kurs
学校 幼儿园 老师 上课 课程
sprache sprachkurs deutsch englisch lernen
语言 学习 外语 英语 德语
vortrag präsentation rede bühne tagung konferenz
报告 演讲 发言 上台 会议 讲
papier papiere unterlagen dokument urkunde bescheinigung formular ausweis
材料 证件 证明 文件 表格 身份证
amt behörde bürgeramt standesamt genehmigung visum aufenthaltstitel
政府 签证 居留 许可 办理
lieferung geliefert paket angekommen bestellt bestellung
快递 包裹 到了 寄来 送到 订购
empfohlen empfehlung empfehlen rat geraten tipp vorgeschlagen
推荐 建议 劝 介绍
geheim geheimnis heimlich verschweigen
秘密 瞒着 偷偷 别告诉 保密
streit gestritten streiten krach
吵架 争吵 闹矛盾
gefährlich gefahr vorsicht allergisch verboten
危险 小心 禁止 不能
schlafen schlaf müde wach schlaflos
睡觉 睡眠 失眠 困
"""


@cache
def _related() -> dict[str, Mapping[str, tuple[str, ...]]]:
    """By language and stem: the words of the topics that it belongs to."""
    related: dict[str, dict[str, tuple[str, ...]]] = {language: {} for language in LANGUAGES}
    for at, line in enumerate(TOPICS.strip().splitlines()):
        language, group = LANGUAGES[at % len(LANGUAGES)], tuple(line.split())
        for word in group:
            stem = stems(word, language)[0]
            known = related[language].get(stem, ())
            related[language][stem] = known + tuple(other for other in group if other not in known)
    return dict(related)


def related_words(words: Iterable[str], language: str) -> dict[str, str]:
    """The other words of the topics that words of a question belong to, each with the word that it stands for.

    >>> related_words(["restaurant"], "de")["mittagessen"], related_words(["zebra"], "de")
    ('restaurant', {})
    """
    known = _related().get(language, {})
    own = {stems(word, language)[0]: word for word in words}
    found: dict[str, tuple[str, str]] = {}
    for stem, word in own.items():
        for other in known.get(stem, ()):
            if (form := stems(other, language)[0]) not in own:
                found.setdefault(form, (other, word))
    return dict(found.values())
