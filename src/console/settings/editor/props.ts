import type { Setting } from "../../../../gen/mooring/v1/setting_pb.js";

/**
 * Properties of every editor. It shows `value` and reports each change; it has no state of its own.
 */
export interface EditorProps {
  readonly setting: Setting;
  readonly value: string;
  /** Id of the labelled element. */
  readonly id: string;
  /** Ids of what describes it: help, violation. */
  readonly describedBy: string;
  readonly invalid: boolean;
  /** Managed by a file, read-only, or not for this token: it can be read and copied. */
  readonly fixed: boolean;
  /** Whether a secret may be shown. */
  readonly revealable: boolean;
  readonly onChange: (value: string) => void;
}

/** Common attributes of editors. */
export function common({ id, describedBy, invalid, fixed }: EditorProps) {
  return {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": invalid,
    readOnly: fixed,
    autocomplete: "off",
    spellcheck: false,
  } as const;
}
