import type { Engine } from "./engine.ts";
import { decideValue } from "./save.ts";
import type { RevisionOrigin } from "./store.ts";
import { generateToken, TOKEN_KEY } from "./token.ts";

export interface StartOptions {
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
  /** The token to begin with when the database has none. */
  readonly adminToken: string | undefined;
  readonly randomBytes: (size: number) => Buffer;
}

/** What the start of the program writes in the history. */
const START: RevisionOrigin = {
  actor: "mooring",
  door: "start",
  method: "",
  requestId: "",
  peer: "",
  reason: "start of the program",
};

/**
 * Writes what the program itself sets: its version, and the token when there is none yet. Processes
 * that start at the same time agree on one token.
 *
 * @returns the token that was made here, to be shown once; undefined when there was one, or when
 * the configured one was taken.
 */
export async function startSettings(
  engine: Engine,
  { version, adminToken, randomBytes }: StartOptions,
): Promise<string | undefined> {
  const { result } = await engine.change(
    START,
    (draft) => {
      const current = draft.get("version");
      if (current !== undefined) draft.put({ ...current, value: version });
      if (draft.get(TOKEN_KEY)?.value !== "") return undefined;
      const token = adminToken ?? generateToken(randomBytes);
      decideValue(draft, TOKEN_KEY, token);
      return adminToken === undefined ? token : undefined;
    },
    { isOwn: true },
  );
  return result;
}
