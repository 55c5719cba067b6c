import type { Ledger } from "../ledger/ledger.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { message } from "../messages/message.ts";
import { SETTINGS } from "./kind.ts";
import { decideValue } from "./save.ts";
import { generateToken, TOKEN_KEY } from "./token.ts";

export interface StartOptions {
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
  /** Initial token for a database without one. */
  readonly adminToken: string | undefined;
  readonly randomBytes: (size: number) => Buffer;
}

/** Origin of the changes at the start of the program, for the history. */
const START: RevisionOrigin = {
  actor: "mooring",
  transport: "start",
  method: "",
  requestId: "",
  peer: "",
  reason: String(message("REASON_START")),
};

/**
 * Writes the settings that the program sets: its version, and the token if there is none. Processes
 * that start at the same time agree on one token.
 *
 * @returns the generated token, to be shown once; undefined when a token existed or is configured.
 */
export async function startSettings(
  ledger: Ledger,
  { version, adminToken, randomBytes }: StartOptions,
): Promise<string | undefined> {
  const { result } = await ledger.change(
    START,
    (draft) => {
      const current = draft.get(SETTINGS, "version");
      if (current !== undefined) draft.put(SETTINGS, { ...current, value: version });
      if (draft.get(SETTINGS, TOKEN_KEY)?.value !== "") return undefined;
      const token = adminToken ?? generateToken(randomBytes);
      decideValue(draft, TOKEN_KEY, token);
      return adminToken === undefined ? token : undefined;
    },
    { isOwn: true },
  );
  return result;
}
