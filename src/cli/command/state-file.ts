// The commands plan and apply.

import type { Command } from "../command.ts";
import { EXIT } from "../failure.ts";

export const planCommand: Command = {
  name: "plan",
  usage: ["plan FILE [--only PARTS] [--pause-sites]"],
  summary: "Show what a file that declares the site would change",
  details: [
    "FILE has the form of MOORING_STATE_FILE (or of a file of settings or mounts); - is",
    "standard input. Its references are resolved on this machine. The plan has the",
    "entries that would be created or changed, with the members that differ, what would",
    "happen on running servers, and what the file does not name. Nothing is changed.",
    "Exit codes: 0 when the file and the service are equal, 2 when they differ, 1 when",
    "the file is invalid or the plan failed.",
  ],
  flags: ["only", "pause-sites"],
  offline: true,
  failureCode: EXIT.failed,
  positionals: [1, 1],
  run: async (run) => {
    const [file = ""] = run.args.positionals;
    // Imported on demand: it loads the parser of YAML.
    const { planFile } = await import("../state-file.ts");
    await planFile(run, file);
  },
};

export const applyCommand: Command = {
  name: "apply",
  usage: ["apply FILE [--only PARTS] [--yes] [--pause-sites] [--reason TEXT]"],
  summary: "Apply a file that declares the site",
  details: [
    "FILE is as for plan. Every entry is applied as it stands, or nothing is: problems are",
    "named by line. Settings, mounts and rules become one revision. What the file does",
    "not name stays. A change that removes, disables or remounts something on a running",
    "server, or begins to write to one, asks first. It exits with 4 when a secret of the",
    "file has no value.",
  ],
  flags: ["only", "pause-sites", "reason", "yes"],
  offline: true,
  positionals: [1, 1],
  run: async (run) => {
    const [file = ""] = run.args.positionals;
    const { applyFile } = await import("../state-file.ts");
    await applyFile(run, file);
  },
};
