// Updates the translation files for their English texts: translations of changed or removed texts
// are deleted, and new texts are listed. Add a translation under its name: { "source": …, "text": …
// }.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LANGUAGES, readTranslations, TRANSLATIONS } from "../src/messages/language.ts";
import { sourceTexts } from "./translation-texts.ts";

const sources = sourceTexts();

for (const language of LANGUAGES) {
  if (language === "en") continue;
  const known = readTranslations(language);
  const texts = new Map([...known.values()].map(({ source, text }) => [source, text]));
  const files = new Map<string, Record<string, object>>();
  for (const { file, name, source } of sources) {
    const text = texts.get(source);
    if (text === undefined) continue;
    files.set(file, { ...files.get(file), [name]: { source, text } });
  }
  const folder = join(TRANSLATIONS, language);
  rmSync(folder, { recursive: true, force: true });
  for (const [file, entries] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${JSON.stringify(entries, null, 2)}\n`);
  }
  const missing = sources.filter(({ source }) => !texts.has(source));
  const words = sources.reduce((count, { text }) => count + text.split(/\s+/).length, 0);
  for (const { file, name, source, text } of missing) say(`${file}#${name} ${source}: ${text}`);
  const made = sources.length - missing.length;
  say(`${language}: ${made} of ${sources.length} texts (${words} English words)`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
