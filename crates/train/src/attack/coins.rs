//! Membership coins and other random choices, from a seed that the attacker does not use.

use rand::rand_core::Rng as _;

use crate::{model::CLASSES, rng::NotPrivateReplay};

/// Draws independent fair coins.
pub(super) fn coins(rng: &mut NotPrivateReplay, count: u32) -> Vec<bool> {
    (0..count).map(|_| rng.next_u32() >> 31 == 1).collect()
}

/// Draws `count` distinct places of `0..among`, in uniform order. `count` is at most `among`.
pub(super) fn places(rng: &mut NotPrivateReplay, among: u32, count: u32) -> Vec<usize> {
    let mut places: Vec<usize> = (0..among as usize).collect();
    for k in 0..count {
        places.swap(k as usize, (k + rng.below(among - k)) as usize);
    }
    places.truncate(count as usize);
    places
}

/// Draws a digit other than `label`, uniformly.
pub(super) fn wrong_label(rng: &mut NotPrivateReplay, label: u8) -> u8 {
    let other = rng.below(CLASSES as u32 - 1) as u8;
    other + u8::from(other >= label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_are_fair_and_places_are_different() {
        let mut rng = NotPrivateReplay::new(1);
        let heads = coins(&mut rng, 100_000).into_iter().filter(|coin| *coin).count();
        assert!((49_200..50_800).contains(&heads), "{heads}");
        let mut first = [0; 7];
        for _ in 0..7000 {
            let mut places = places(&mut rng, 7, 5);
            first[places[0]] += 1;
            places.sort_unstable();
            places.dedup();
            assert!(places.len() == 5 && places.iter().all(|place| *place < 7));
        }
        assert!(first.iter().all(|count| (850..1150).contains(count)), "{first:?}");
    }

    #[test]
    fn a_wrong_label_is_each_other_one_equally_often() {
        let mut rng = NotPrivateReplay::new(2);
        for label in 0..10 {
            let mut counts = [0; 10];
            (0..9000).for_each(|_| counts[usize::from(wrong_label(&mut rng, label))] += 1);
            assert_eq!(counts[usize::from(label)], 0);
            assert_eq!(counts.iter().filter(|count| (850..1150).contains(*count)).count(), 9, "{label}: {counts:?}");
        }
    }
}
