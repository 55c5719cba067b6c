import { diffCommand } from "./command/diff.ts";
import { exportCommand } from "./command/export.ts";
import { getCommand } from "./command/get.ts";
import { historyCommand } from "./command/history.ts";
import { importCommand } from "./command/import.ts";
import { listCommand } from "./command/list.ts";
import { rollbackCommand } from "./command/rollback.ts";
import { setCommand } from "./command/set.ts";
import { tokenCommand } from "./command/token.ts";
import { unsetCommand } from "./command/unset.ts";
import { watchCommand } from "./command/watch.ts";
import type { Command } from "./command.ts";

/** All commands but serve, in the order of the help. */
export const commands: readonly Command[] = [
  getCommand,
  setCommand,
  unsetCommand,
  listCommand,
  watchCommand,
  historyCommand,
  diffCommand,
  rollbackCommand,
  exportCommand,
  importCommand,
  tokenCommand,
];
