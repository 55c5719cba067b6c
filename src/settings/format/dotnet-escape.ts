import { message } from "../../messages/message.ts";
import { type Expression, fail } from "./expression.ts";

/** Character of a name as a part of a pattern: `\w` of .NET. */
export const WORD = "[\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}\\u200c\\u200d]";
const WORD_CHARACTER = new RegExp(WORD, "u");

const CONTROL_ESCAPES: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["e", 27],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

/** Reads the escape of a character, after its `\`. @returns the code of the character. */
export function readEscape(expression: Expression): number {
  const octal = expression.take(/[0-7]{1,3}/y);
  if (octal !== undefined) return Number.parseInt(octal, 8) & 0xff;
  const hex = expression.take(/x\{[0-9A-Fa-f]+\}|x(?!\{)[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}/y);
  if (hex !== undefined) {
    const code = Number.parseInt(hex.replace(/[xu{}]/g, ""), 16);
    return code <= 0x10ffff ? code : fail(message("EXPRESSION_ESCAPE_BEYOND", { form: "\\x{…}" }));
  }
  const control = expression.take(/c[@-_a-z]/y);
  if (control !== undefined) return control.toUpperCase().charCodeAt(1) - 0x40;
  const code = expression.character();
  const letter = String.fromCodePoint(code);
  if (!WORD_CHARACTER.test(letter)) return code;
  return CONTROL_ESCAPES.get(letter) ?? fail(message("EXPRESSION_ESCAPE_UNKNOWN", { letter }));
}

/** Reads the name of a Unicode class, `L` or `{Greek}`, after its `\p`. */
export function readUnicodeClass(expression: Expression): void {
  const braced = expression.take(/\{[^}]*\}/y);
  const name = braced?.slice(1, -1) ?? String.fromCodePoint(expression.character());
  if (!isUnicodeName(name)) fail(message("EXPRESSION_UNICODE_CLASS_UNKNOWN"));
}

const CATEGORIES = /^(?:C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;

/** Properties of Unicode that Go has, besides categories and scripts. */
const PROPERTIES: ReadonlySet<string> = new Set([
  "ASCII_Hex_Digit",
  "Bidi_Control",
  "Dash",
  "Deprecated",
  "Diacritic",
  "Extender",
  "Hex_Digit",
  "Hyphen",
  "IDS_Binary_Operator",
  "IDS_Trinary_Operator",
  "Ideographic",
  "Join_Control",
  "Logical_Order_Exception",
  "Noncharacter_Code_Point",
  "Other_Alphabetic",
  "Other_Default_Ignorable_Code_Point",
  "Other_Grapheme_Extend",
  "Other_ID_Continue",
  "Other_ID_Start",
  "Other_Lowercase",
  "Other_Math",
  "Other_Uppercase",
  "Pattern_Syntax",
  "Pattern_White_Space",
  "Prepended_Concatenation_Mark",
  "Quotation_Mark",
  "Radical",
  "Regional_Indicator",
  "STerm",
  "Sentence_Terminal",
  "Soft_Dotted",
  "Terminal_Punctuation",
  "Unified_Ideograph",
  "Variation_Selector",
  "White_Space",
]);

/** Long names of scripts that have four letters, as short names do. */
const SHORT_SCRIPTS: ReadonlySet<string> = new Set(["Ahom", "Cham", "Lisu", "Thai", "Toto"]);

/** Reports whether a name is a general category, a script or a property of Unicode, as Go has them. */
function isUnicodeName(name: string): boolean {
  if (CATEGORIES.test(name) || PROPERTIES.has(name)) return true;
  // Go has the long names of scripts only, and a short name has four letters.
  if (name.length === 4 && !SHORT_SCRIPTS.has(name)) return false;
  if (!/^[A-Z][A-Za-z]*(?:_[A-Z][A-Za-z]*)*$/.test(name)) return false;
  try {
    new RegExp(`\\p{sc=${name}}`, "u");
    return true;
  } catch {
    return false;
  }
}
