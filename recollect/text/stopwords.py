"""Stop words by language: function words, which carry little content, and no nouns or other verbs."""

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

GERMAN = """
    ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes ans auch auf aufs aus
    bei beide beiden beim bevor bin bis bist bitte da dabei dadurch dafür dagegen daher damit danach daneben dann daran
    darauf daraus darf darfst darin darüber darum das dass davon davor dazu dein deine deinem deinen deiner deines dem
    den denen denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort drin du durch
    dürfen dürfte durfte durften eben eigentlich ein eine einem einen einer eines einige einigen er es etwa etwas euch
    euer eure eurem euren für fürs ganz gar gegen gehabt genau gewesen geworden gibt hab habe haben habt hast hat hatte
    hatten hattest hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in ins irgend irgendwann
    irgendwas irgendwo ist ja je jede jedem jeden jeder jedes jene jener jetzt kann kannst kein keine keinem keinen
    keiner keines können könnte konnte könnten konnten laut mag mal man manche mehr mein meine meinem meinen meiner
    meines mich mir mit möchte möchtest muss müssen musst musste müsste nach neben nein nicht nichts nie noch nun nur
    ob oder ohne schon sehr seid sein seine seinem seinen seiner seines seit seitdem selbst sich sie sind so sogar
    solche soll sollen sollst sollte sollten sondern sonst trotzdem über überhaupt um und uns unser unsere unserem
    unseren unserer unter viel viele vielen vieles vom von vor während wann war wäre waren wären warst warum was weder
    wegen weil welche welchem welchen welcher welches wem wen wenig wenn wer werde werden weshalb wessen wie wieder
    wieso wieviel wieviele will willst wir wird wirst wo wobei wodurch wofür wogegen woher wohin wohl wollen wollte
    womit wonach woran worauf woraus worden worin worüber worum wovon wovor wozu würde wurde wurden würden zu zuerst
    zum zur zwar zwischen
    """
FRENCH = """
    à ai aie ainsi alors après as au aucun aucune aussi autre autres aux avait avaient avais avant avec avez avoir
    avons ayant c ça car ce ceci cela celle celles celui ces cet cette ceux chaque chez ci combien comme comment
    contre d dans de déjà depuis des dès devant dois doit donc dont du elle elles en encore entre es est et étaient
    étais était été êtes être eu eux fait faire fut il ils j je jusque l la là laquelle le lequel les lesquelles
    lesquels leur leurs lors lorsque lui m ma mais me même mêmes mes mien mienne moi moins mon n ne ni non nos notre
    nous on ont ou où oui par parce pas pendant peu peut peux plus plusieurs pour pourquoi pourrait puis puisque qu
    quand que quel quelle quelles quels qui quoi s sa sans se sera serait ses si sien sienne soi sommes son sont
    sous suis sur t ta tandis tant te tes toi ton toujours tous tout toute toutes très tu un une vers veut veux vos
    votre vous y
    """
SPANISH = """
    a acerca ahora al algo algún alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aquí
    así aún aunque bajo bien cada casi como cómo con contra cual cuál cuales cuáles cualquier cuando cuándo cuanta
    cuánta cuántas cuanto cuánto cuántos cuya cuyo de del desde donde dónde dos durante e el él ella ellas ello ellos
    en entonces entre era eran eras eres es esa esas ese eso esos esta está estaba estaban estado estamos están estar
    estas estás este esto estos estoy fue fueron fui ha había habían habías haber han has hasta hay he hemos hizo la
    las le les lo los más me mi mí mía mías mientras mío míos mis misma mismo muy nada ni ningún ninguna ninguno no
    nos nosotras nosotros nuestra nuestras nuestro nuestros nunca o os otra otras otro otros para pero poco por porque
    porqué pues puede puedes puedo que qué quien quién quienes quiénes se sé según ser será si sí sido sin sino sobre
    solo sólo somos son soy su sus suya suyo tal también tampoco tan tanto te tenía tener tengo ti tiene tienen tienes
    toda todas todavía todo todos tu tú tus tuya tuyo u un una unas uno unos usted ustedes va vosotros voy vuestra
    vuestro y ya yo
    """
ITALIAN = """
    a abbia abbiamo ad agli ai al alcuna alcune alcuni alla alle allo allora altra altre altri altro anche ancora
    avendo aver avere aveva avevamo avevano avevi avevo avrà c che chi ci cioè ciò coi col come con contro cosa così
    cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dentro di dopo dove dovuto due e è
    ebbe ed era erano eravamo eri ero essere fa fin fino fra fu furono già gli ha hai hanno ho i il in io l la là le
    lei li lì lo loro lui ma me mentre mi mia mie miei mio molto ne né nei nel nell nella nelle nello nessun nessuna
    nessuno no noi non nostra nostre nostri nostro o ogni oppure ora per perché però più poco poi possiamo posso può
    puoi pure qua qual quale quali qualche quando quanta quante quanti quanto quasi quel quella quelle quelli quello
    questa queste questi questo qui quindi s sarà sarebbe se sei sempre senza si sì sia siamo siete sono sopra sotto
    sta stata stato stati stesso sto su sua sue sugli sui sul sulla sulle sullo suo suoi tanto te ti tra tu tua tue
    tuo tuoi tutta tutte tutti tutto un una uno v vi voi vostra vostro
    """
DUTCH = """
    aan achter al alle allemaal alles als altijd andere ben bent bij bijna binnen buiten daar daarna daarom dan dat de
    deze die dit doch doen doet door dus een eens en er erg ergens ervan even geen geweest had hadden heb hebben hebt
    heeft heel hem hen het hier hij hoe hoeveel hun iemand iets ik in is ja je jij jou jouw jouwe jullie kan kon
    konden kun kunnen kunt maar me meer men met mij mijn moet moeten moest na naar naast niemand niet niets nog nooit
    nou nu of om omdat onder ons onze ook op over pas sinds steeds te tegen terwijl toch toen tot tussen u uit uw van
    vanaf vanwege veel voor waar waarom waarin waarmee waarover waarvan wanneer want waren was wat we weer welk welke
    wel werd werden wie wiens wij wil wilde worden wordt zal ze zelf zich zij zijn zo zoals zonder zou zouden
    """
PORTUGUESE = """
    a à ainda algo alguém algum alguma algumas alguns ante antes ao aos apenas após aquela aquelas aquele aqueles
    aquilo as às até cada com como contra cuja cujo da daquela daquele das de dela dele deles depois desde dessa desse
    desta deste do dos durante e é ela elas ele eles em enquanto entre era eram és essa essas esse esses esta está
    estamos estão estas estava estavam este estes estou eu foi fomos for foram fui há isso isto já la lhe lhes lo lá
    mais mas me mesma mesmo meu meus mim minha minhas muita muito muitos na nada não nas nela nele nem nenhum nenhuma
    nessa nesse nesta neste no nos nós nossa nossas nosso nossos nunca num numa o onde os ou outra outras outro
    outros para pela pelas pelo pelos perante pode podemos por porque porquê posso pouco pra qual quais qualquer
    quando quanta quantas quanto quantos que quê quem são se sem sempre sendo ser será seu seus si sido sob sobre
    somos sou sua suas também tão te tem têm temos tenho ter teu teus teve tinha tinham tive toda todas todo todos tu
    tua tuas tudo um uma umas uns vai você vocês vos vou
    """
SWEDISH = """
    aldrig all alla allt alltid annan annat att av bara bli blir blev bort borde de dem den denna deras dess dessa det
    detta dig din dina ditt du där därför då efter eftersom ej eller en er era ert ett fick finns från få får för före
    genom ha hade han hans har hel hela henne hennes hit hon honom hur här i icke igen in inga ingen inget innan inte
    inom ja jag kan kunde kommer man med mellan men mer mig min mina minst mitt mot mycket må många måste ni nog nu när
    någon någonsin något några nästan och också om oss på redan samma sedan sig sin sina sitt själv ska skall skulle
    som så sådan tack till tills under upp ut utan vad var vara varför varifrån varit varje vars vart vem vems vi vid
    vilka vilken vilket vill ville är även år över åt
    """
DANISH = """
    ad af aldrig alle alt altid anden andet andre at begge blev blevet blive bliver bare da de dem den denne der deres
    det dette dig din dine disse dit dog du efter eller en end endnu er et få får fik for fordi fra før gennem ham han
    hans har havde have hej hele hende hendes her hos hun hvad hvem hver hvilken hvilket hvilke hvis hvor hvordan
    hvorfor hvornår hvorhen i igen ikke ind ingen intet ja jeg jer jeres jo kan kun kunne lige man mange med meget
    mellem men mere mig min mindre mine mit mod må måske ned nej noget nogen nogle nok nu når og også om op os over
    på samme selv sig sin sine sit skal skulle som sådan så til ud uden under var ved vi vil ville vores være været
    """
NORWEGIAN = """
    alle allerede alltid at av bare begge ble blei bli blir blitt både båe da de deg dei deim deira dem den denne der
    dere deres det dette di din disse ditt du dykk eg ein eit eitt eller elles en enn er et ett etter for fordi fra før
    få får fikk gjennom ha hadde ham han hans har hennar henne hennes her hos ho hun hva hvem hver hvilke hvilken
    hvilket hvis hvor hvordan hvorfor hvorhen i igjen ikke ikkje ingen ingenting inn innen ja jeg kan kom korleis kva
    kven kunne kvifor man mange med meg meget mellom men mer min mine mitt mot mye må måtte nei ned noe noen nok nå når
    og også om opp oss over på samme seg selv si sia siden sin sine sitt skal skulle som så sånn til um under ut uten
    var vart varte ved vi vil ville vår våre vært være
    """
FINNISH = """
    aina asti ei eikä ehkä eivät eli emme en enemmän ennen entä että ette et hän häneen hänelle hänellä hänen hänet
    häntä he heidän heille heitä hän itse ja jo jokin joku jolla jonka jos joskus jossa josta jota jotka jotta joten
    jälkeen kai kaikki kanssa kautta kenelle kenellä keneltä kenen ketä ketkä kuin kuinka kuitenkin kun kuka kukaan
    koska koskaan kuten kyllä luona lähtien me meidän meille meitä mikä miksi mikään millainen millä milloin miltä
    minkä minne minua minulla minulle minulta minun minut minä missä mistä miten mitkä mitä mm monta mua mukaan mulla
    mulle mun mutta muu muut myös myöten ne niiden niin niitä noin nuo nyt ole oletko olemme olen olet olette oli
    olimme olin olisi olit olivat olla olleet ollut on onko ollaan ovat paljon pitää pitäisi saa se sekä sen siellä
    sieltä siihen siinä siis siitä sille sillä silloin sinne sinua sinulla sinulle sinun sinut sinä sitten sitä sulla
    sun te teidän teille teitä tai taas tuo tuolla tuossa tämä tämän tänne tässä tästä täällä tätä vain vaan vaikka
    vielä voi voin voit voiko yli
    """
RUSSIAN = """
    а без более бы был была были было быть в вам вами вас ваш ваша ваше ваши вдруг во вот все всё всегда всего всех
    всю вы где да даже для до другой другая другие его ее её ей ему если есть еще ещё же за здесь и из или им ими их к
    каждый каждая как какая какие каким каком какое какой какую когда кого кому которая которое который которые
    которую кто куда ко ли либо лишь между меня мне много может можно мной мог могу моего моей моем моём мои мой моя
    мою моё мое мы на над надо нам нами нас наш наша наше наши не него нее неё ней нельзя нет нею ни нибудь никогда
    ним них ничего но ну о об однако около он она они оно от откуда очень по под после потом потому почему почти при
    про раз с сам сама сами самый свой свою своего себе себя сейчас сколько со так такая такие такой там тебе тебя тем
    теперь то тобой тогда того тоже той только том тот ту тут ты у уже хотя чего чей чем через что чтобы чуть чья эта
    эти этим этих это этого этой этом этот эту я
    """


def _variants(word: str) -> tuple[str, ...]:
    """A German word also as it is typed without umlauts."""
    plain = word
    for letter, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        plain = plain.replace(letter, letters)
    return word, plain


# By the code of ISO 639-1.
BY_LANGUAGE: dict[str, frozenset[str]] = {
    "en": ENGLISH,
    "de": frozenset(variant for word in GERMAN.split() for variant in _variants(word)),
    "fr": frozenset(FRENCH.split()),
    "es": frozenset(SPANISH.split()),
    "it": frozenset(ITALIAN.split()),
    "nl": frozenset(DUTCH.split()),
    "pt": frozenset(PORTUGUESE.split()),
    "sv": frozenset(SWEDISH.split()),
    "da": frozenset(DANISH.split()),
    "no": frozenset(NORWEGIAN.split()),
    "fi": frozenset(FINNISH.split()),
    "ru": frozenset(RUSSIAN.split()),
}


def stop_words(language: str) -> frozenset[str]:
    """Those of a language; English and Chinese ones for a language without a list."""
    return STOP if language == "en" else BY_LANGUAGE.get(language, STOP)
