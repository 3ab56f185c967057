//! Both engines do the same: the same history gives the same answers and the same rows.

mod player;
mod steps;
mod together;

use kiosque_testkit::{TestData, TestStore, runs};
use player::Player;
use steps::StepGenerator;

const STEPS: i64 = 60;

/// Every step of a history has the same result on both engines, and the rows are equal at the end.
#[tokio::test]
async fn histories_are_the_same_on_both_engines() {
    for seed in (0..).take(runs(20, 500)) {
        let mut generator = StepGenerator::new(seed);
        let mut file = Player::new(TestStore::on(TestData::sqlite()).await);
        let mut server = Player::new(TestStore::on(TestData::postgres()).await);
        for number in 0..STEPS {
            let now = 500 + 20 * number;
            let step = if number == 0 { StepGenerator::opening() } else { generator.step(now) };
            let (in_file, in_server) =
                (file.play(step.clone(), now).await, server.play(step.clone(), now).await);
            assert_eq!(in_file, in_server, "seed {seed}, step {number}: {step:?}");
        }
        for player in [&file, &server] {
            // A step that failed is rolled back meanwhile.
            let verified = player.fixture.store.upkeep().verify().await.unwrap();
            assert_eq!(verified.differences, [""; 0], "seed {seed}");
            // No version is given twice.
            player.fixture.tamper("update group_changes set history = 0, fleet = 0, rates = 0");
            player.fixture.tamper("update ledger set history = 0");
            player.fixture.tamper("update counters set last = 0 where name = 'fleet'");
        }
        let (in_file, in_server) = (file.fixture.rows(), server.fixture.rows());
        let differ = |rows: &[String], others: &[String]| {
            rows.iter().filter(|row| !others.contains(row)).cloned().collect::<Vec<_>>()
        };
        let differences = [differ(&in_file, &in_server), differ(&in_server, &in_file)];
        assert_eq!(differences, [const { Vec::<String>::new() }; 2], "seed {seed}");
        assert_eq!(in_file.len(), in_server.len(), "seed {seed}");
    }
}
