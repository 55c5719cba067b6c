// The commands export and import.

import { exportArchive, importArchive, readOnly } from "../archive.ts";
import type { Command } from "../command.ts";
import { usage } from "../failure.ts";

export const exportCommand: Command = {
  name: "export",
  usage: [
    "export [FILE] [--only PARTS] [--secrets MODE] [--passphrase-file PATH] [--force]",
    "export [FILE] [--include-server-own]",
    "export [FILE] --as-file [--output PATH] [--secrets-dir DIR] [--all]",
  ],
  summary: "Write an archive of the whole site",
  details: [
    "Writes settings, mounts, rules, sites, webhooks, and principals with the definitions of",
    "their tokens to FILE, atomically and readable only by its owner, or to standard",
    "output. Secrets are omitted, sealed with a passphrase (from --passphrase-file or",
    "MOORING_PASSPHRASE, otherwise typed), or written in the clear. import reads the",
    "file. The admin token of this service is left out unless --include-server-own is",
    "given. --as-file writes a YAML file for MOORING_STATE_FILE, plan and apply instead,",
    "with settings that are not the default (--all: all), and with references to files",
    "in place of secrets; --secrets-dir writes these files too.",
  ],
  flags: [
    "all",
    "as-file",
    "force",
    "include-server-own",
    "only",
    "output",
    "passphrase-file",
    "secrets",
    "secrets-dir",
  ],
  offline: true,
  positionals: [0, 1],
  run: async (run) => {
    const { args } = run;
    const [named = "-"] = args.positionals;
    const file = args.text("output") ?? (named === "-" ? undefined : named);
    if (args.is("as-file")) {
      // Imported on demand: it loads the parser of YAML.
      const { exportAsFile } = await import("../state-file.ts");
      return exportAsFile(run, file);
    }
    for (const flag of ["all", "secrets-dir"] as const)
      if (args.has(flag)) throw usage(`--${flag} goes with --as-file only`);
    await exportArchive(run, {
      file,
      only: readOnly(run.args),
      names: [],
    });
  },
};

export const importCommand: Command = {
  name: "import",
  usage: [
    "import FILE [--only PARTS] [--site OLD=NEW] [--dry-run] [--yes] [--accept-loss]",
    "import FILE [--passphrase-file PATH] [--skip-invalid] [--include-server-own]",
    "import FILE [--replace-secrets] [--pause-sites] [--allow-shared-credential]",
    "import FILE [--table NAME]",
  ],
  summary: "Import an archive, or settings, mounts and folder rules of an AList or OpenList server",
  details: [
    "FILE is a file of export, a backup file of the AList or OpenList web page (plain",
    "or encrypted), the SQLite database of such a server with any table prefix, or a",
    "list of its settings or storages (storages.json, sqlite3 -json); - is JSON on",
    "standard input. Settings and mounts become one revision; what the file lacks is",
    "not removed. --site OLD=NEW maps the name of a site, and --site NAMES chooses the",
    "sites of mounts whose source names none. --skip-invalid skips invalid settings",
    "instead of refusing all. The passphrase comes from --passphrase-file or",
    "MOORING_PASSPHRASE, otherwise it is typed. token, version and index_progress are",
    "skipped unless --include-server-own is given. An import that removes, disables or",
    "remounts something on a running server, or begins to write to one, asks first.",
    "Secrets that are stored here stay as they are, with the addresses they belong to,",
    "unless --replace-secrets is given; replacing one asks first too. It exits with 4 when",
    "something of the file is not kept.",
  ],
  flags: [
    "accept-loss",
    "allow-shared-credential",
    "dry-run",
    "include-server-own",
    "only",
    "passphrase-file",
    "pause-sites",
    "reason",
    "replace-secrets",
    "site",
    "skip-invalid",
    "table",
    "yes",
  ],
  offline: true,
  positionals: [1, 1],
  run: async (run) => {
    const [file = ""] = run.args.positionals;
    await importArchive(run, file, readOnly(run.args));
  },
};
