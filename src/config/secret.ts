import { createSecretKey, type KeyObject } from "node:crypto";
import type { Parser } from "./value.ts";

const tokenLength = { min: 32, max: 512 };

/**
 * An admin token: 32 to 512 visible ASCII characters without a space, because it has to fit into
 * an HTTP header and into gRPC metadata as it is. The same rule holds for a token that is saved.
 */
export const adminToken: Parser<string> = (text) => {
  if (text.length < tokenLength.min) {
    return { complaint: `is shorter than ${tokenLength.min} characters` };
  }
  if (text.length > tokenLength.max) {
    return { complaint: `is longer than ${tokenLength.max} characters` };
  }
  return /^[\x21-\x7e]+$/.test(text)
    ? { value: text }
    : { complaint: "has a space or a character that is not ASCII, which no header can carry" };
};

const maxKeys = 16;

/**
 * Keys for AES-256-GCM, the one that seals first. Each is 32 bytes as 64 hexadecimal digits or in
 * base64 (either alphabet), separated by commas or, in a file, by lines. They come out as key
 * objects, which show nothing of themselves in a log.
 */
export const secretKeys: Parser<readonly KeyObject[]> = (text) => {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  if (parts.length === 0 || parts.length > maxKeys) {
    return { complaint: `does not hold 1 to ${maxKeys} keys separated by commas` };
  }
  const keys: KeyObject[] = [];
  for (const [index, part] of parts.entries()) {
    const bytes = keyBytes(part);
    if (bytes === undefined) {
      return {
        complaint:
          `has a key (number ${index + 1}) that is not 32 bytes in hexadecimal or base64: ` +
          '"openssl rand -hex 32" makes one',
      };
    }
    keys.push(createSecretKey(bytes));
  }
  return { value: keys };
};

function keyBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) {
    return Buffer.from(text, "hex");
  }
  return /^[a-z0-9+/_-]{43}=?$/i.test(text) ? Buffer.from(text, "base64") : undefined;
}
