import { type Message, message } from "../messages/message.ts";

/** A file that declares records: the variable that names it, and what it may contain. */
export interface FileForm {
  /** Name of the file in messages, such as `the settings file`. */
  readonly title: string;
  readonly variable: "MOORING_STATE_FILE" | "MOORING_SETTINGS_FILE" | "MOORING_MOUNTS_FILE";
  /** Actor of its changes in the history. */
  readonly actor: string;
  /** Reason of its changes in the history. */
  readonly reason: Message;
  /** The only section; undefined: all parts of an archive. */
  readonly section?: string;
}

export const STATE_FILE: FileForm = {
  title: "state file",
  variable: "MOORING_STATE_FILE",
  actor: "state-file",
  reason: message("REASON_STATE_FILE"),
};

export const SETTINGS_FILE: FileForm = {
  title: "settings file",
  variable: "MOORING_SETTINGS_FILE",
  actor: "settings-file",
  reason: message("REASON_SETTINGS_FILE"),
  section: "settings",
};

export const MOUNTS_FILE: FileForm = {
  title: "file of mounts",
  variable: "MOORING_MOUNTS_FILE",
  actor: "mounts-file",
  reason: message("REASON_MOUNT_FILE"),
  section: "mounts",
};

/** A file of this process, and its form. */
export interface DeclaringFile {
  readonly form: FileForm;
  /** Absolute path. */
  readonly path: string;
}

/** Files of a configuration. */
export function declaringFiles(config: {
  readonly stateFile: string | undefined;
  readonly settingsFile: string | undefined;
  readonly mountsFile: string | undefined;
}): readonly DeclaringFile[] {
  const named = [
    [STATE_FILE, config.stateFile],
    [SETTINGS_FILE, config.settingsFile],
    [MOUNTS_FILE, config.mountsFile],
  ] as const;
  return named.flatMap(([form, path]) => (path === undefined ? [] : [{ form, path }]));
}

/** Name of a file in messages, such as `the settings file /etc/mooring/settings.yaml`. */
export function nameOfFile({ form, path }: DeclaringFile): string {
  return `the ${form.title} ${path}`;
}
