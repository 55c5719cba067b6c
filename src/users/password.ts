import { randomInt } from "node:crypto";

/** Letters and digits that are not mistaken for another one. */
const CHARACTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/** 116 bits. */
const LENGTH = 20;

/** Generates a password. */
export function randomPassword(): string {
  return Array.from({ length: LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join("");
}
