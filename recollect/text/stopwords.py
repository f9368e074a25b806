"""Stop words: words that carry little content, in English and Chinese."""

ENGLISH = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from
    further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it
    its itself just ll m me more most my myself no nor not now o of off on once only or other our ours ourselves
    out over own re s same shall she should shouldn so some such t than that the their theirs them themselves then
    there these they this those through to too under until up us ve very was wasn we were weren what when where
    which while who whom whose why will with won would wouldn y you your yours yourself yourselves
    """.split()
)

# Particles, pronouns, question words; simplified and traditional.
CHINESE = frozenset(
    """
    的 了 着 过 是 在 有 和 与 與 跟 及 或 也 都 就 还 還 又 很 挺 真 吗 嗎 呢 啊 呀 吧 哦 嘛 哎 啦 来着 來著 我
    你 您 他 她 它 们 們 我们 我們 你们 你們 他们 他們 她们 她們 我的 你的 他的 她的 自己 这 這 那 这个 這個
    那个 那個 这些 這些 那些 这里 這裡 那里 那裡 其 之 于 於 什么 什麼 啥 怎么 怎麼 怎么样 怎麼樣 怎样 怎樣 哪
    哪里 哪裡 哪儿 哪些 哪个 哪個 谁 誰 多少 几 幾 多 何 何时 何時 何处 何處 为 為 为什么 為什麼 因为 因為 所以
    但 但是 而 而且 并 並 如果 到底 究竟 另外 以及 对 對 把 被 让 讓 给 給 从 從 到 向 由 以 为了 為了 可以 会
    會 要 能 个 個 一 一个 一個 请 請 请问 請問 知道 告诉 告訴 想
    """.split()
)
STOP = ENGLISH | CHINESE
