import { randomBytes } from "node:crypto";

/** A new id of an incident, a webhook or a delivery. Hexadecimal: an argument of a command must not begin with a hyphen. */
export function newId(): string {
  return randomBytes(9).toString("hex");
}
