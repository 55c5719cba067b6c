import type { IncomingMessage } from "node:http";

/** A user of the site. */
export interface User {
  readonly name: string;
  password: string;
  role: number;
  disabled: boolean;
  /** The one-time code that a login needs; undefined: none. */
  otp?: string;
}

export interface SessionRules {
  /** AList from 3.46 on sends the role as an array. */
  readonly roleAsArray: boolean;
  /** AList from 3.52 on: maximum devices of a user; 0: any number. */
  readonly maxDevices: number;
}

export type Refusal = { readonly code: number; readonly message: string };

/** The user of a request, by the header `authorization`. */
export interface Sessions {
  readonly users: Map<string, User>;
  login(
    credentials: { readonly name: string; readonly password: string; readonly otp: string },
    request: IncomingMessage,
  ): { token: string } | Refusal;
  logout(token: string): void;
  /** @param permanent the setting `token`. */
  userOf(request: IncomingMessage, permanent: string): User | Refusal;
  changePassword(user: User, password: string): void;
  restart(): void;
  me(user: User): Record<string, unknown>;
}

/** Wrong passwords after which an address is locked. */
const MAX_WRONG = 5;

export function createSessions(rules: SessionRules): Sessions {
  const admin: User = { name: "admin", password: "admin-password", role: 2, disabled: false };
  const users = new Map<string, User>([
    ["admin", admin],
    ["ann", { name: "ann", password: "ann-password", role: 0, disabled: false }],
    ["guest", { name: "guest", password: "", role: 1, disabled: true }],
  ]);
  let issued = new Map<string, { readonly user: string; readonly password: string }>();
  const wrong = new Map<string, number>();
  const devices = new Map<string, Set<string>>();
  const register = (user: User, request: IncomingMessage): Refusal | undefined => {
    if (rules.maxDevices === 0) return undefined;
    const known = devices.get(user.name) ?? new Set<string>();
    devices.set(user.name, known.add(String(request.headers["client-id"] ?? "")));
    return known.size > rules.maxDevices
      ? { code: 403, message: "too many active devices" }
      : undefined;
  };
  return {
    users,
    login: ({ name, password, otp }, request) => {
      const from = leftmost(request);
      if ((wrong.get(from) ?? 0) >= MAX_WRONG)
        return { code: 429, message: "Too many unsuccessful sign-in attempts have been made" };
      const user = users.get(name);
      if (user === undefined || user.password !== password) {
        wrong.set(from, (wrong.get(from) ?? 0) + 1);
        return { code: 400, message: "password is incorrect" };
      }
      if (user.otp !== undefined && user.otp !== otp) {
        wrong.set(from, (wrong.get(from) ?? 0) + 1);
        return { code: 402, message: "Invalid 2FA code" };
      }
      wrong.delete(from);
      // Two logins within one second have the same claims and thus the same token.
      const token = Buffer.from(`${name}.${Math.floor(Date.now() / 1000)}`).toString("base64url");
      issued.set(token, { user: name, password });
      return { token };
    },
    logout: (token) => {
      issued.delete(token);
    },
    userOf: (request, permanent) => {
      const token = request.headers.authorization ?? "";
      // With an emptied token, a client without a token is an admin.
      if (token === permanent) return register(admin, request) ?? admin;
      if (token === "") return { code: 401, message: "Guest user is disabled, login please" };
      const session = issued.get(token);
      const user = users.get(session?.user ?? "");
      if (session === undefined || user === undefined)
        return { code: 401, message: "token is invalidated" };
      if (session.password !== user.password)
        return { code: 401, message: "Password has been changed, login please" };
      if (user.disabled) return { code: 401, message: "Current user is disabled, replace please" };
      return register(user, request) ?? user;
    },
    changePassword: (user, password) => {
      user.password = password;
    },
    restart: () => {
      issued = new Map();
    },
    me: ({ name, role, disabled }) => ({
      id: 1,
      username: name,
      password: "",
      base_path: "/",
      role: rules.roleAsArray ? [role] : role,
      disabled,
      permission: 0,
      sso_id: "",
      otp: false,
    }),
  };
}

/** The client address for the site: the leftmost one in X-Forwarded-For, from any sender. */
export function leftmost(request: IncomingMessage): string {
  const forwarded =
    String(request.headers["x-forwarded-for"] ?? "")
      .split(",")[0]
      ?.trim() ?? "";
  return forwarded === "" ? (request.socket.remoteAddress ?? "") : forwarded;
}
