import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { Arguments, FlagName } from "./argument.ts";
import type { SettingClient } from "./connection.ts";
import type { Output } from "./output.ts";
import type { World } from "./world.ts";

/** Command of the command line: its help and its implementation. */
export interface Command {
  readonly name: string;
  /** Usage lines, without the program's name. */
  readonly usage: readonly [string, ...string[]];
  /** Description in one line without a full stop. */
  readonly summary: string;
  /** More details: lines of at most 80 columns. */
  readonly details: readonly string[];
  /** Its own flags, without those of every command. */
  readonly flags: readonly FlagName[];
  /** Whether the command accepts `--database`. */
  readonly offline: boolean;
  /** Whether the command uses no token. */
  readonly anonymous?: true;
  /** Minimum and maximum number of positional arguments. */
  readonly positionals: readonly [min: number, max: number];
  /**
   * Runs the command; a return is success.
   *
   * @throws CliFailure or ConnectError, which determine the exit code.
   */
  readonly run: (run: CommandRun) => Promise<void>;
}

/** Context of a running command. */
export interface CommandRun {
  readonly args: Arguments;
  readonly world: World;
  /** Standard output: results. */
  readonly output: Output;
  /** Standard error: details before a question. */
  readonly errors: Output;
  /**
   * Connects to the service, or to the database of `--database`. Every call returns the same
   * client.
   */
  connect(): Promise<SettingClient>;
  /** Like connect, for other services of the contract. */
  connectTo<S extends DescService>(service: S): Promise<Client<S>>;
  /** Writes a line that is not a result to standard error. */
  notice(text: string): void;
}
