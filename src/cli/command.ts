import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { Arguments, FlagName } from "./argument.ts";
import type { SettingClient } from "./connection.ts";
import type { Output } from "./output.ts";
import type { World } from "./world.ts";

/** A command of the command line: what the help says of it, and what it does. */
export interface Command {
  readonly name: string;
  /** Ways to write it, without the program's name. */
  readonly usage: readonly [string, ...string[]];
  /** Description in one line without a full stop. */
  readonly summary: string;
  /** More details: lines of at most 80 columns. */
  readonly details: readonly string[];
  /** Its own flags; those that every command has are not among them. */
  readonly flags: readonly FlagName[];
  /** Whether the command accepts `--database`. */
  readonly offline: boolean;
  /** Whether the command uses no token. */
  readonly anonymous?: true;
  /** Fewest and most positional arguments. */
  readonly positionals: readonly [min: number, max: number];
  /**
   * Does it. Returning is success.
   *
   * @throws CliFailure or ConnectError, which say how it ended.
   */
  readonly run: (run: CommandRun) => Promise<void>;
}

/** Context of a running command. */
export interface CommandRun {
  readonly args: Arguments;
  readonly world: World;
  /** Standard output: results. */
  readonly output: Output;
  /** Standard error: what a question is about. */
  readonly errors: Output;
  /** The service, or the database of `--database`. The same at each call. */
  connect(): Promise<SettingClient>;
  /** Like connect, for other services of the contract. */
  connectTo<S extends DescService>(service: S): Promise<Client<S>>;
  /** Tells the person something that is no result: a line on standard error. */
  notice(text: string): void;
}
