import { createSecretKey, type KeyObject } from "node:crypto";
import { quote, reasonOf } from "./complaint.ts";
import type { ParseContext, Parsed, Parser } from "./value.ts";
import { path } from "./value.ts";

const tokenLength = { min: 32, max: 512 };

/**
 * An admin token: 32 to 512 visible ASCII characters without a space, so that HTTP headers and gRPC
 * metadata need no encoding. The same rule applies to a saved token.
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
    : {
        complaint:
          "contains a space or a character that is not ASCII, which is not allowed in a header",
      };
};

/** A token of another server: 1 to 1,024 visible ASCII characters. */
export const otherToken: Parser<string> = (text) =>
  /^[\x21-\x7e]{1,1024}$/.test(text)
    ? { value: text }
    : {
        complaint:
          "contains a space or a character that is not allowed in a header, or has more than 1024 characters",
      };

/** A passphrase or password: 1 to 1,024 characters without control characters. */
export const anySecret: Parser<string> = (text) =>
  /^\P{Cc}{1,1024}$/u.test(text)
    ? { value: text }
    : { complaint: "has a control character, or more than 1024 characters" };

const maxKeys = 16;

/**
 * Keys for AES-256-GCM; the first one encrypts. Each is 32 bytes as 64 hexadecimal digits or in
 * base64 (either alphabet), separated by commas or, in a file, by lines. The result is key objects,
 * whose bytes cannot appear in a log.
 */
export const secretKeys: Parser<readonly KeyObject[]> = (text) => {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  if (parts.length === 0 || parts.length > maxKeys) {
    return { complaint: `does not contain 1 to ${maxKeys} keys separated by commas` };
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

/** Reads a whole text file in UTF-8; throws system errors of `node:fs`. */
export type ReadFile = (path: string) => string;

/** Text with its source. */
export interface Sourced {
  /** Beginning of a message: `--listen`, `MOORING_LISTEN`, or the name and path of a file. */
  readonly source: string;
  /** Trimmed, not empty. */
  readonly text: string;
}

const maxFileLength = 4096;

/**
 * Reads a secret given directly or in a file, as container platforms mount it; surrounding white
 * space is removed.
 *
 * @returns undefined when neither is given; a problem never quotes a file's content.
 */
export function readSecret(
  given: { readonly direct: Sourced | undefined; readonly file: Sourced | undefined },
  { readFile, ...context }: ParseContext & { readonly readFile: ReadFile },
): Sourced | { readonly problem: string } | undefined {
  const { direct, file } = given;
  if (file === undefined) {
    return direct;
  }
  if (direct !== undefined) {
    return { problem: `${direct.source} and ${file.source} are both given: keep one of them` };
  }
  const shown = `${file.source} ${quote(file.text)}`;
  const content = contentOf(path(file.text, context), readFile);
  return "complaint" in content
    ? { problem: `${shown} ${content.complaint}` }
    : { source: `${shown}: the content`, text: content.value };
}

function contentOf(file: Parsed<string>, readFile: ReadFile): Parsed<string> {
  if ("complaint" in file) {
    return file;
  }
  let content: string;
  try {
    content = readFile(file.value);
  } catch (cause) {
    return { complaint: `can't be read: ${reasonOf(cause)}` };
  }
  if (content.length > maxFileLength) {
    return {
      complaint: `holds more than ${maxFileLength} characters: check that it is the right file`,
    };
  }
  const text = content.trim();
  return text === "" ? { complaint: "is empty" } : { value: text };
}
