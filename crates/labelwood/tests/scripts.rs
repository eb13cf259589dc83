//! Small texts in many scripts, read with the default settings and learned by the default algorithm.
//!
//! The texts are made by a rule of real words: some of one topic, which is the label, among words that any
//! text may have. Rows to train on and rows to ask about are made in the same way, of another seed.

use labelwood::Settings;
use labelwood::data::LabelIndexBuilder;
use labelwood::model::{Model, TrainOptions};
use labelwood::run::Pool;
use labelwood::sparse::{LabelRows, Query};
use labelwood::text::{Params, Tokens, learn};

/// Words of a language.
struct Words {
    language: &'static str,
    /// What stands between words.
    space: &'static str,
    /// Words of each topic: animals, food, school and weather.
    topics: [&'static str; 4],
    /// Words of no topic.
    others: &'static str,
    /// What may follow a word of a topic in the same word: endings, or further parts.
    endings: &'static str,
}

const CHINESE: Words = Words {
    language: "Chinese",
    space: "",
    topics: [
        "老虎 大象 猴子 熊猫 狮子 兔子",
        "米饭 面条 苹果 鸡蛋 牛奶 蔬菜",
        "老师 学生 教室 课本 考试 作业",
        "下雨 刮风 大雪 晴天 台风 气温",
    ],
    others: "今天 我们 他们 喜欢 昨天 看见 可以 这个 但是 非常 时候 因为",
    endings: "",
};

const JAPANESE: Words = Words {
    language: "Japanese",
    space: "",
    topics: [
        "トラ 象 猿 うさぎ ライオン 子犬",
        "ご飯 りんご 卵焼き 牛乳 野菜 うどん",
        "先生 生徒 教室 教科書 試験 宿題",
        "大雨 強風 雪 晴れ 台風 気温",
    ],
    others: "今日は 私たちは 昨日 とても 好きです 見ました そして しかし あの人が いつも",
    endings: "",
};

const THAI: Words = Words {
    language: "Thai",
    space: "",
    topics: [
        "เสือ ช้าง ลิง กระต่าย สิงโต แมว",
        "ข้าวผัด ก๋วยเตี๋ยว ผลไม้ ไข่ดาว นมสด ผักสด",
        "ครูใหญ่ นักเรียน ห้องเรียน หนังสือ ข้อสอบ การบ้าน",
        "ฝนตก ลมแรง หิมะ แดดออก พายุ อุณหภูมิ",
    ],
    others: "วันนี้ เราชอบ เมื่อวาน พวกเขา มากมาย แต่ว่า เพราะว่า ที่นี่ ตอนเช้า ทุกคน",
    endings: "",
};

const GERMAN: Words = Words {
    language: "German",
    space: " ",
    topics: [
        "Hunde Katzen Vogel Pferde Fisch Löwen",
        "Brot Käse Apfel Kartoffel Fleisch Suppen",
        "Schul Lehrer Klassen Prüfungs Unterrichts Schüler",
        "Regen Wind Schnee Sturm Sonnen Nebel",
    ],
    others: "heute gestern wir und sehr hier immer dann aber gesehen haben mit dem",
    endings: "buch haus tag zeit bild plan preis freund karte geschichte",
};

const FINNISH: Words = Words {
    language: "Finnish",
    space: " ",
    topics: [
        "kissa koira karhu kana kala norsu",
        "peruna omena juusto liha puuro pulla",
        "koulu kirja opettaja taulu kurssi sivu",
        "sumu halla salama usva tuisku kuura",
    ],
    others: "tänään eilen me ja hyvin täällä aina sitten mutta nähtiin kanssa",
    endings: "n ssa sta lla lta a mme nsa kin",
};

/// Scripts that part words by spaces or, as Korean, parts of words by them.
const SPACED: [Words; 6] = [
    Words {
        language: "Arabic",
        space: " ",
        topics: [
            "نمر فيل قرد أرنب أسد قطة",
            "أرز خبز تفاح بيض حليب خضار",
            "معلم طالب فصل كتاب امتحان واجب",
            "مطر ريح ثلج شمس عاصفة حرارة",
        ],
        others: "اليوم نحن أمس كثيرا لكن هناك دائما رأينا نحب جدا",
        endings: "",
    },
    Words {
        language: "Russian",
        space: " ",
        topics: [
            "тигр слон обезьяна кролик лев кошка",
            "рис хлеб яблоко яйцо молоко овощи",
            "учитель ученик класс учебник экзамен урок",
            "дождь ветер снег солнце буря мороз",
        ],
        others: "сегодня вчера мы они очень здесь всегда потом но видели",
        endings: "",
    },
    Words {
        language: "Greek",
        space: " ",
        topics: [
            "τίγρη ελέφαντας μαϊμού λαγός λιοντάρι γάτα",
            "ρύζι ψωμί μήλο αυγό γάλα λαχανικά",
            "δάσκαλος μαθητής τάξη βιβλίο εξετάσεις μάθημα",
            "βροχή άνεμος χιόνι ήλιος καταιγίδα παγετός",
        ],
        others: "σήμερα χθες εμείς πολύ εδώ πάντα μετά αλλά είδαμε εκεί",
        endings: "",
    },
    Words {
        language: "Hindi",
        space: " ",
        topics: [
            "बाघ हाथी बंदर खरगोश शेर बिल्ली",
            "चावल रोटी सेब अंडा दूध सब्ज़ी",
            "शिक्षक छात्र कक्षा किताब परीक्षा पाठ",
            "बारिश हवा बर्फ़ धूप तूफ़ान ठंड",
        ],
        others: "आज कल हम वे बहुत यहाँ हमेशा फिर लेकिन देखा",
        endings: "",
    },
    Words {
        language: "Hebrew",
        space: " ",
        topics: [
            "נָמֵר פִּיל קוֹף אַרְנָב אַרְיֵה חָתוּל",
            "אֹרֶז לֶחֶם תַּפּוּחַ בֵּיצָה חָלָב יְרָקוֹת",
            "מוֹרֶה תַּלְמִיד כִּתָּה סֵפֶר מִבְחָן שִׁעוּר",
            "גֶּשֶׁם רוּחַ שֶׁלֶג שֶׁמֶשׁ סְעָרָה כְּפוֹר",
        ],
        others: "הַיּוֹם אֶתְמוֹל אֲנַחְנוּ הֵם מְאֹד כָּאן תָּמִיד אַחַר אֲבָל רָאִינוּ",
        endings: "",
    },
    Words {
        language: "Korean",
        space: " ",
        topics: [
            "호랑이 코끼리 원숭이 토끼 사자 고양이",
            "쌀밥 국수 사과 달걀 우유 채소",
            "선생님 학생 교실 교과서 시험 숙제",
            "소나기 바람 눈보라 햇빛 태풍 기온",
        ],
        others: "오늘 어제 우리 그들 매우 여기 항상 그리고 하지만 보았다",
        endings: "를 에서 와 도 의 처럼 까지 만",
    },
];

/// Texts with their topics.
fn texts(words: &Words, rows: usize, mut seed: u64) -> Vec<(String, usize)> {
    let mut draw = |from: &'static str| {
        let from: Vec<&str> = from.split(' ').collect();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from[(seed >> 33) as usize % from.len()]
    };
    let mut text = |row: usize| {
        let topic = row % 4;
        let mut of_topic = || format!("{}{}", draw(words.topics[topic]), draw(words.endings));
        let (one, other) = (of_topic(), of_topic());
        let [a, b, c, d] = [(); 4].map(|()| draw(words.others).to_owned());
        let order = match row / 4 % 3 {
            0 => [a, one, b, c, other, d],
            1 => [one, a, b, other, c, d],
            _ => [a, b, other, one, c, d],
        };
        (order.join(words.space), topic)
    };
    (0..rows).map(&mut text).collect()
}

/// The share of texts whose first label is right. Chance is a quarter: no topic is more frequent.
fn precision(words: &Words, params: &Params) -> f64 {
    let task = Pool::new(1).unwrap().task();
    let train = texts(words, 80, 1);
    let mut names = LabelIndexBuilder::default();
    let mut labels = LabelRows::new(4);
    for (_, topic) in &train {
        let id = names.id(["x:1", "x:2", "x:3", "x:4"][*topic]);
        labels.push_row(&[id], &[()]).unwrap();
    }
    let read: Vec<&str> = train.iter().map(|(text, _)| text.as_str()).collect();
    let read = learn(&read, labels, names.finish(), Default::default(), params.clone(), &task);
    let (reader, rows) = match read {
        Ok(read) => read,
        // No term at all: every answer would be a guess.
        Err(_) => return 0.25,
    };
    let options = TrainOptions { text: Some(&reader), ..TrainOptions::default() };
    let settings = Settings::named("grove").unwrap();
    let model = Model::train(rows.view(), options, &settings, &task).unwrap();
    let test = texts(words, 80, 2);
    let asked: Vec<&str> = test.iter().map(|(text, _)| text.as_str()).collect();
    let best = model.predict_texts(&asked, Query::top(1), &task).unwrap();
    let is_right = |(row, (_, topic)): &(usize, &(String, usize))| {
        best.row(*row).first().is_some_and(|best| best.id as usize == *topic)
    };
    let right = test.iter().enumerate().filter(is_right).count();
    right as f64 / test.len() as f64
}

#[test]
fn text_without_spaces_is_learned_where_runs_as_words_are_not() {
    for words in [CHINESE, JAPANESE, THAI] {
        let auto = precision(&words, &Params::default());
        let word = precision(&words, &Params { tokens: Tokens::Word, ..Params::default() });
        println!("{}: {auto}, runs as words {word}, chance 0.25", words.language);
        assert!(auto >= 0.8, "{}: {auto}", words.language);
        assert!(word <= 0.75 * auto, "{}: {word}", words.language);
    }
}

#[test]
fn scripts_with_spaces_marks_and_endings_are_learned() {
    for words in SPACED {
        let auto = precision(&words, &Params::default());
        let word = precision(&words, &Params { tokens: Tokens::Word, ..Params::default() });
        println!("{}: {auto}, runs as words {word}, chance 0.25", words.language);
        assert!(auto >= 0.8 && auto >= word, "{}: {auto}, {word}", words.language);
    }
}

#[test]
fn languages_that_join_words_are_learned_from_pieces() {
    for words in [GERMAN, FINNISH] {
        let auto = precision(&words, &Params::default());
        let word = precision(&words, &Params { tokens: Tokens::Word, ..Params::default() });
        println!("{}: {auto}, words alone {word}, chance 0.25", words.language);
        assert!(auto >= 0.8, "{}: {auto}", words.language);
        assert!(word <= 0.75 * auto, "{}: {word}", words.language);
    }
}
