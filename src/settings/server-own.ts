import { TOKEN_KEY } from "./token.ts";

/**
 * Keys whose values belong to one server: its permanent token, what it writes about itself, and
 * about its search index. They are not exchanged with sites, and imported only on request.
 */
export const SERVER_OWN_KEYS: ReadonlySet<string> = new Set([
  TOKEN_KEY,
  "version",
  "index_progress",
]);
