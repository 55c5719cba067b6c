// Updates the translation files for their English texts: translations of changed or removed texts
// are deleted, and new texts are listed. Add a translation under its name: { "source": …, "text": …
// }.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { START_TEXTS } from "../src/app/start-page.ts";
import { definitionList } from "../src/config/definition.ts";
import { NO_DEFAULT, SECRET_HELP } from "../src/config/help.ts";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { itemsOf } from "../src/drivers/driver-info.ts";
import { SCHEMA_TEXTS } from "../src/drivers/schema.ts";
import {
  LANGUAGES,
  type Language,
  readTranslations,
  sourceHash,
  TRANSLATIONS,
} from "../src/messages/language.ts";
import { MESSAGES } from "../src/messages/table.ts";
import { loadSettingDefinitions } from "../src/settings/definition-file.ts";
import { UNAVAILABLE_TEXTS } from "../src/upstream/unavailable-page.ts";

/** Updates the files of a language. */
function update(language: Language): void {
  const sources = sourceTexts();
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

// Texts to be translated: all display texts of the catalogue, the settings and the configuration.
/** English text under its first name. */
interface SourceText {
  /** File in a language's folder, such as `drivers/s3.json`. */
  readonly file: string;
  /** Owner of the text, for display: an item, a setting's key, an option. */
  readonly name: string;
  readonly text: string;
  readonly source: string;
}

const DATA = join(import.meta.dirname, "../src/data");

interface ItemFile {
  readonly use?: string;
  readonly name?: string;
  readonly help?: string;
}

interface DriverFile {
  readonly label?: string;
  readonly config?: { readonly alert?: string };
  readonly variants?: Readonly<Record<string, { readonly config?: { readonly alert?: string } }>>;
  readonly additional?: readonly ItemFile[];
}

/** All texts in the order of their files. */
export function sourceTexts(): SourceText[] {
  const texts = new Map<string, SourceText>();
  const names = new Set<string>();
  const add = (file: string, name: string, text = ""): void => {
    if (text === "" || texts.has(text)) return;
    const source = sourceHash(text);
    const free = names.has(`${file}#${name}`) ? `${name} ${source}` : name;
    names.add(`${file}#${free}`);
    texts.set(text, { file, name: free, text, source });
  };
  for (const file of ["common-items.json", "shared-items.json"])
    for (const [name, { help }] of Object.entries(read<Record<string, ItemFile>>(file)))
      add(file, name, help);
  for (const file of readdirSync(join(DATA, "drivers")).sort()) addDriver(add, `drivers/${file}`);
  const settings = loadSettingDefinitions(undefined, "all");
  for (const { key, description } of settings) add("settings.json", key, description);
  addLabels((name, text) => add("labels.json", name, text));
  for (const [id, text] of Object.entries(MESSAGES)) add("errors.json", id, text);
  for (const [name, text] of Object.entries(UNAVAILABLE_TEXTS)) add("unavailable.json", name, text);
  for (const [name, text] of Object.entries(START_TEXTS)) add("start-page.json", name, text);
  addConfiguration((name, text) => add("configuration.json", name, text));
  return [...texts.values()];
}

function read<T>(file: string): T {
  return JSON.parse(readFileSync(join(DATA, file), "utf8")) as T;
}

function addDriver(add: (file: string, name: string, text?: string) => void, file: string): void {
  const { label, config, variants = {}, additional = [] } = read<DriverFile>(file);
  const alertOf = (alert = ""): string => alert.replace(/^[a-z]+\|/, "");
  add(file, "(label)", label);
  add(file, "(alert)", alertOf(config?.alert));
  for (const [family, variant] of Object.entries(variants))
    add(file, `(${family} alert)`, alertOf(variant.config?.alert));
  for (const item of additional) add(file, item.use ?? item.name ?? "", item.help);
}

function addLabels(add: (name: string, text?: string) => void): void {
  const drivers = readBuiltIn({ offer: "all" }).drivers;
  const things = [
    ...drivers.flatMap(itemsOf),
    ...loadSettingDefinitions(undefined, "all").map((setting) => ({
      ...setting,
      name: setting.key,
    })),
  ];
  for (const { name, label, options, optionLabels, unit } of things) {
    add(name, label);
    const values = options.split(",");
    for (const [index, text] of optionLabels.entries()) add(`${name}=${values[index]}`, text);
    add(`unit ${unit}`, unit);
  }
  for (const { group, groupLabel } of loadSettingDefinitions(undefined, "all"))
    add(`group ${group}`, groupLabel);
  for (const text of SCHEMA_TEXTS) add(`schema ${text.trim()}`, text);
}

function addConfiguration(add: (name: string, text?: string) => void): void {
  add("(no default)", NO_DEFAULT);
  add("(secret)", SECRET_HELP);
  for (const { variable, help, otherwise } of definitionList) {
    add(variable, help);
    add(`${variable} (default)`, otherwise);
  }
}

if (import.meta.main) for (const language of LANGUAGES) if (language !== "en") update(language);
