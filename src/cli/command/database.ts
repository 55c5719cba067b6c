import { type Database, databaseName } from "../../config/database.ts";
import { counted } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { checkIsThere, readDatabaseConfig } from "../connection.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";

/** Interval of progress messages, in rows. */
const PROGRESS = 10_000;

const actions: Readonly<Record<string, Action>> = {
  copy: {
    count: 0,
    flags: ["from", "to", "dry-run"],
    instead: "--from DB and --to DB",
    act: copy,
  },
  check: { count: 0, flags: [], instead: "--database DB", act: check },
};

export const databaseCommand: Command = {
  name: "database",
  actions,
  usage: ["database copy --from DB --to DB [--dry-run]", "database check --database DB"],
  summary: "Copy a database to another one, or check one",
  details: [
    "copy copies everything (settings, history, sealed secrets) from SQLite to",
    "PostgreSQL or back, into an empty database. Stop the service before: its saves",
    "would be refused or not copied. check verifies all pages, and that settings and",
    "history agree; it exits with 1 after a problem. DB is PATH, sqlite:PATH or",
    "postgres://USER@HOST/NAME; a password is safer in PGPASSWORD or ~/.pgpass than",
    "on the command line.",
  ],
  flags: ["from", "to", "dry-run"],
  offline: true,
  positionals: [1, 1],
  run: (run) => runAction(databaseCommand, run),
};

async function copy({ args, world, output, notice }: CommandRun): Promise<void> {
  const fromText = args.text("from");
  const [toText, ...more] = args.texts("to");
  if (more.length > 0) throw usage("--to is given more than once");
  if (fromText === undefined || toText === undefined)
    throw usage("database copy requires --from and --to");
  const from = readDatabaseConfig(fromText, world, "--from").database;
  const to = readDatabaseConfig(toText, world, "--to").database;
  checkIsThere(from);
  if (databaseName(from) === databaseName(to)) throw usage("--from and --to are the same database");
  const isDry = args.is("dry-run");
  const onProgress = ({ table, copied }: { table: string; copied: number }): void => {
    if (copied % PROGRESS === 0) notice(`${table}: ${copied} rows so far`);
  };
  const copied = await world.databases.copy(from, to, { isDry, onProgress });
  await output.table(
    [{ title: "TABLE" }, { title: isDry ? "TO COPY" : "COPIED" }],
    copied.map((of) => [of.table, counted(of.copied, "row")]),
  );
}

async function check({ args, world, output }: CommandRun): Promise<void> {
  const text = args.text("database");
  if (text === undefined) throw usage("database check requires --database");
  const { database }: { readonly database: Database } = readDatabaseConfig(text, world);
  checkIsThere(database);
  const problems = await world.databases.check(database);
  if (problems.length > 0)
    throw new CliFailure(EXIT.failed, `${databaseName(database)} is damaged`, problems);
  await output.write(`${databaseName(database)} is whole\n`);
}
