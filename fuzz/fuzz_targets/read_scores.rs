//! Any bytes read as the scores of a part of a model give scores or an error, and scores give the same
//! bytes again.

#![no_main]

use labelwood::shard::{Scores, ScoresReader};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut reader = ScoresReader::new(bytes);
    while let Ok(Some(scores)) = reader.next() {
        let again = Scores::from_bytes(&scores.to_bytes()).expect("what was written is read");
        assert_eq!((again.len(), again.share()), (scores.len(), scores.share()));
    }
});
