import { createCipheriv, createHash, randomBytes } from "node:crypto";

/** Encrypts as the web page does: OpenSSL's format in Base64, twice. */
export function encrypt(text: string, password: string): string {
  const salt = randomBytes(8);
  let block = Buffer.alloc(0);
  let derived = block;
  while (derived.length < 48) {
    block = createHash("md5").update(block).update(password).update(salt).digest();
    derived = Buffer.concat([derived, block]);
  }
  const aes = createCipheriv("aes-256-cbc", derived.subarray(0, 32), derived.subarray(32));
  const salted = [Buffer.from("Salted__"), salt, aes.update(text, "utf8"), aes.final()];
  return Buffer.from(Buffer.concat(salted).toString("base64")).toString("base64");
}
