//! Random worlds, each from a seed: every channel, every way of delivery, every kind of fault, as they fit.
//!
//! Known: a world that does not fit for the sake of a property is refused by the model, and the tests go on to
//! the next; everything else that is made here fits.
//! Held by: tests/worlds.rs, which counts what really happens in them.

use quorate::model::Model;
use quorate::property::When;
use quorate::world::{Channel, CrashSends, Crashes, Delivery, World};

use crate::dice::Random;

/// The world of this seed, for a model. Successive seeds go through all channels.
pub fn random_world(seed: u64, model: &Model) -> World {
    let mut random = Random(seed ^ 0x776f_726c_6473);
    let channels = [
        Channel::Bag,
        Channel::Set,
        Channel::Fifo,
        Channel::Mailbox,
        Channel::LossyFifo,
        Channel::LossyMailbox,
        Channel::Duplicating,
        Channel::Blocking(1 + random.index(2)),
        Channel::Overwriting(1 + random.index(3)),
        if seed.is_multiple_of(3) { Channel::Lossy } else { Channel::Bag },
        Channel::Set,
    ];
    let channel = channels[usize::try_from(seed % 11).expect("it is below a usize")];
    let unordered = matches!(channel, Channel::Bag | Channel::Lossy | Channel::Set);
    let has_loss =
        matches!(channel, Channel::Lossy | Channel::LossyFifo | Channel::LossyMailbox | Channel::Duplicating);
    let doubles = matches!(channel, Channel::Bag | Channel::Fifo | Channel::Mailbox);
    // A process that must consume all may be stuck, so ends of runs are not looked at there.
    let at_end = model.properties().iter().any(|property| property.when() == When::AtEnd);
    let all = if at_end { Delivery::InSteps } else { Delivery::InStepsConsumingAll };
    let ways = [Delivery::AtOnce, Delivery::InSteps, all, all];
    World::default()
        .channel(channel)
        .delivery(if unordered { *random.pick(&ways) } else { Delivery::AtOnce })
        .crashes(if random.chance(50) { crashes(&mut random, model) } else { Crashes::Implicit })
        .restarts(if random.chance(40) { restarts(&mut random, model) } else { Vec::new() })
        .losses(if !has_loss && random.chance(30) { 1 + random.index(2) } else { 0 })
        .duplications(usize::from(doubles && random.chance(40)))
}

/// The world of this seed in which messages come in order, and may be lost: by budgets, which leave what is behind to be
/// taken, or by being skipped. Few worlds of [`random_world`] are such, and a reduction is easily wrong in them.
pub fn ordered_world(seed: u64) -> World {
    let mut random = Random(seed ^ 0x006f_7264_6572);
    if random.chance(25) {
        return World::default().channel(Channel::LossyFifo);
    }
    let losses = 1 + random.index(2);
    World::default().channel(Channel::Fifo).losses(losses).duplications(usize::from(random.chance(30)))
}

fn crashes(random: &mut Random, model: &Model) -> Crashes {
    let of_role = |role: &'static str| {
        let members = model.roles().of(role).len();
        (role.to_string(), random.index(members + 1))
    };
    let prone = model.roles().names().map(of_role).collect();
    let sends = *random.pick(&[CrashSends::All, CrashSends::Some, CrashSends::Some, CrashSends::AnySubset]);
    Crashes::Explicit { prone, sends }
}

fn restarts(random: &mut Random, model: &Model) -> Vec<(String, usize)> {
    let roles = model.roles().names().filter(|_| random.chance(60)).map(String::from);
    let roles: Vec<String> = roles.collect();
    roles.into_iter().map(|role| (role, 1 + random.index(2))).collect()
}
