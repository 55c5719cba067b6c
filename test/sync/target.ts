import type { Target } from "../../src/sync/adapter.ts";

/** A site at which nothing listens. */
export const targetOf = (id: string, changes: Partial<Target> = {}): Target => ({
  id,
  url: `http://127.0.0.1:1/${id}`,
  token: "t",
  ca: "",
  pin: "",
  paused: false,
  upstream: false,
  ...changes,
});
