import type { IncomingMessage, ServerResponse } from "node:http";
import { envelope, json } from "./stand-in-reply.ts";
import type { Refusal, Sessions, User } from "./stand-in-session.ts";

export type Route = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Checks of the caller before a route. */
interface Rights {
  asUser(run: (user: User, request: IncomingMessage, response: ServerResponse) => unknown): Route;
  asAdmin(run: Route): Route;
}

/** @param permanent the permanent token now. */
export function createRights(sessions: Sessions, permanent: () => string): Rights {
  const asUser =
    (run: (user: User, request: IncomingMessage, response: ServerResponse) => unknown): Route =>
    (request, response) => {
      const user = sessions.userOf(request, permanent());
      return isRefusal(user) ? envelope(response, user) : run(user, request, response);
    };
  const asAdmin = (run: Route): Route =>
    asUser((user, request, response) =>
      user.role === 2
        ? run(request, response)
        : envelope(response, { code: 403, message: "You are not an admin" }),
    );
  return { asUser, asAdmin };
}

/** Routes of sessions and users. */
export function accountRoutes(
  sessions: Sessions,
  { asUser }: Pick<Rights, "asUser">,
): Record<string, Route> {
  return {
    "POST /api/auth/login": async (request, response) => {
      const body = ((await json(request)) ?? {}) as Record<string, unknown>;
      const [name, password] = [String(body["username"]), String(body["password"])];
      const credentials = { name, password, otp: String(body["otp_code"] ?? "") };
      const result = sessions.login(credentials, request);
      if (isRefusal(result)) return envelope(response, result);
      envelope(response, { code: 200, message: "success", data: result });
    },
    "GET /api/auth/logout": (request, response) => {
      sessions.logout(request.headers.authorization ?? "");
      envelope(response, { code: 200, message: "success" });
    },
    "GET /api/me": asUser((user, _request, response) =>
      envelope(response, { code: 200, message: "success", data: sessions.me(user) }),
    ),
    "POST /api/me/update": asUser(async (user, request, response) => {
      const body = ((await json(request)) ?? {}) as Record<string, unknown>;
      if (typeof body["password"] === "string") sessions.changePassword(user, body["password"]);
      envelope(response, { code: 200, message: "success" });
    }),
  };
}

export function isRefusal(value: object): value is Refusal {
  return "code" in value;
}
