import type { Message } from "../en.ts";

/** English texts of the page for mounts of share links. */
export const sharesTexts = {
  "shares.line": "Line {line}: {problem}",
  "shares.links": "Share links",
  "shares.linksHint":
    "Text as you copied it. The extraction code may be in the link (?pwd=), after a label such as “code:”, or after the link and a space.",
  "shares.noAddress": "there is no link",
  "shares.noCode": "the driver requires an extraction code",
  "shares.noShare": "the link has no share ID of this driver",
  "shares.otherProvider": "the link is of another provider: choose its driver",
  "shares.path": "Paths",
  "shares.pathHint": "{name} is replaced by the name of the mount, which is the ID of the share.",
  "shares.repeated": "repeated: another line has the same share",
  "shares.unclearCode":
    "it is not clear which text is the extraction code: write “code:” before it",
  "shares.unknownPart": "the link is about a folder or file that cannot be read from it",
} as const satisfies Readonly<Record<string, Message>>;
