/** Address of logins at the upstream; undefined: no upstream. */
export const loginAddress: string | undefined = addressOf(
  document.documentElement.dataset["login"] ?? "",
);

/** Credentials of a login at the upstream. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  /** One-time code; empty: not requested yet. */
  readonly code: string;
}

/**
 * Outcome of a login.
 * - `in`: the session's token. `code`: a one-time code is missing or wrong.
 * - `wrong`: user name or password. `locked`: too many failed logins from this address.
 * - `silent`: the server gave no valid answer. `refused`: any other reason, with the server's
 *   message.
 */
export type LoginResult =
  | { readonly kind: "in"; readonly token: string }
  | { readonly kind: "code" | "wrong" | "locked" | "silent" }
  | { readonly kind: "refused"; readonly words: string };

/** Time limit of a login, in milliseconds. */
const LIMIT = 20_000;
const MAX_WORDS = 200;

/** Logs in at the upstream, as its own page does. The password is not stored. */
export async function logIn({ username, password, code }: Credentials): Promise<LoginResult> {
  if (loginAddress === undefined) return { kind: "silent" };
  try {
    const reply = await fetch(loginAddress, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/json" },
      body: JSON.stringify({ username, password, otp_code: code }),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(LIMIT),
    });
    return resultOf(await reply.json());
  } catch {
    return { kind: "silent" };
  }
}

/** Ends a session of the upstream. */
export async function logOut(token: string): Promise<void> {
  if (loginAddress === undefined) return;
  await fetch(new URL("logout", loginAddress), {
    headers: { authorization: token },
    credentials: "omit",
    // The page may be closed at once.
    keepalive: true,
  }).catch(() => undefined);
}

/** Codes of the upstream's envelope: 402 requests a one-time code, 429 locks an address. */
function resultOf(answer: unknown): LoginResult {
  const { code, message, data } = (answer ?? {}) as {
    code?: unknown;
    message?: unknown;
    data?: { token?: unknown } | null;
  };
  if (code === 200) {
    const token = data?.token;
    // A token must be a valid header value.
    const isToken = typeof token === "string" && /^[\x21-\x7e]+$/.test(token);
    return isToken ? { kind: "in", token } : { kind: "silent" };
  }
  if (code === 402) return { kind: "code" };
  if (code === 429) return { kind: "locked" };
  if (code === 502 || code === 503 || typeof code !== "number") return { kind: "silent" };
  const [words = ""] = String(message ?? "").split("\n", 1);
  if (code === 400 && /password|not found/i.test(words)) return { kind: "wrong" };
  return { kind: "refused", words: words.slice(0, MAX_WORDS) };
}

function addressOf(path: string): string | undefined {
  return path === "" ? undefined : new URL(path, window.location.href).href;
}
