//! The English words that are left out on request.

/// Articles, pronouns, prepositions, conjunctions, auxiliary verbs and the like, and what is left of
/// their short forms ("don't", "we'll") once the apostrophe has split them.
pub(super) const ENGLISH: &str = "
a an the this that these those such same other another each every either neither both all any some
few many much more most less least several own enough no none nothing something anything everything
one ones
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its
itself we us our ours ourselves they them their theirs themselves who whom whose which what whoever
whatever whichever someone anyone everyone nobody somebody anybody everybody
am is are was were be been being do does did doing done has have had having can could may might must
shall should will would cannot ought
and or but nor so yet if then else than as because since while whereas although though unless until
whether
of at by for with without within about against between among into onto through throughout during
before after above below over under from to up down in out on off upon toward towards across along
around behind beside besides beyond near per via
not only just also too very quite rather again further once ever never always often already still
even almost perhaps however therefore thus hence otherwise instead meanwhile moreover indeed
here there where when why how everywhere somewhere anywhere nowhere now
ll ve re don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn
";
