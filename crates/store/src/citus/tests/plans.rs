//! Every statement as a Citus cluster plans it.

use kiosque_testdb::Schema;
use kiosque_testkit::is_citus;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

use super::*;

/// With two shards, a statement of one shard differs from a statement of all.
const TWO_SHARDS: &str = "set citus.shard_count = 2;";

/// Returns a connection to a schema of the cluster in which the tables are distributed.
async fn with_tables() -> Client {
    let schema = Schema::new();
    let (register, layout) = (crate::migrate::CREATE_REGISTER, crate::migrate::texts());
    schema.script(&format!("{register};\n{layout}\n{TWO_SHARDS}\n{}", citus_statements()));
    let connected = tokio_postgres::connect(schema.url(), NoTls).await;
    let (client, connection) = connected.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Returns the plan of a statement for the group, the account and all other values 1.
async fn plan(client: &Client, (text, arrays): (&str, usize)) -> Result<String, Error> {
    let values = (0..parameters(text)).map(|at| if at < arrays { "'{1}'" } else { "'1'" });
    let values = values.collect::<Vec<_>>().join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    client.batch_execute(&format!("prepare asked as {text}")).await?;
    let explained =
        client.simple_query(&format!("explain (costs off) execute asked{values}")).await;
    client.batch_execute("deallocate asked").await?;
    let rows = explained?.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(rows.collect::<Vec<_>>().join("\n"))
}

/// Returns the highest number of a parameter.
fn parameters(text: &str) -> usize {
    let numbers = text.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().expect("a number")
    });
    numbers.max().unwrap_or(0)
}

/// Returns whether a plan reads or changes one shard, in one step.
fn is_of_one_shard(plan: &str) -> bool {
    let mut tasks = plan.lines().filter_map(|line| line.trim().strip_prefix("Task Count: "));
    let first = tasks.next();
    first == Some("1") && tasks.all(|count| count == "1")
}

/// The rules that the other tests check are the rules of the cluster.
#[tokio::test]
async fn the_cluster_plans_every_statement_for_one_shard() {
    if !is_citus() {
        println!("not run: `cargo xtask test --citus URL` names a cluster");
        return;
    }
    let (client, mut wrong) = (with_tables().await, Vec::new());
    let statements = crate::statements::all().into_iter();
    for (sql, form) in statements.flat_map(|sql| forms(sql).into_iter().map(move |it| (sql, it))) {
        let (name, (text, _)) = (name_of(sql), form);
        let is_of_all = OF_ALL_GROUPS.iter().any(|(exception, _)| *exception == name);
        match plan(&client, form).await {
            Err(error) => wrong.push(format!("{name}: {error:?}: {text}")),
            Ok(plan) if !sharded(text).is_empty() && !is_of_all && !is_of_one_shard(&plan) => {
                wrong.push(format!("{name} is not of one shard: {plan}"));
            }
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
