import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { FAMILIES, isOffered, type Offer, unionOf } from "../config/family.ts";
import { isObject } from "../is-object.ts";
import { jsonErrorText } from "../json-error.ts";
import { memoize } from "../memoize.ts";
import { type Labels, readLabels } from "../messages/label.ts";
import { checkKey, isSettingType, type SettingDefinition } from "./definition.ts";
import { formatOf, formats } from "./format/registry.ts";
import { checkValue, normalizeValue } from "./value.ts";

interface Json {
  readonly key?: unknown;
  readonly [member: string]: unknown;
}

type Report = (member: string, problem: string) => void;

/** Highest group of the contract and of existing servers. */
const MAX_GROUP = 12;

interface Member {
  readonly required: boolean;
  readonly accepts: (value: unknown) => boolean;
  readonly form: string;
}

const MEMBERS: Readonly<Record<string, Member>> = {
  key: required((value) => isText(value) && checkKey(value) === undefined, "a key"),
  type: required((value) => isText(value) && isSettingType(value), "an input type"),
  options: required(isText, "text, empty for all but a select"),
  group: required(wholeUpTo(MAX_GROUP), `a whole number from 0 to ${MAX_GROUP}`),
  flag: required(wholeUpTo(2), "0 (public), 1 (private) or 2 (readonly)"),
  default: required(isText, "text"),
  help: required((value) => isText(value) && value.trim() !== "", "text that is not empty"),
  label: optional((value) => isText(value) && value !== "", "text that is not empty"),
  legacy_help: optional((value) => value === true, "true, or left out"),
  families: optional(isFamilies, `a list of ${FAMILIES.join(", ")}`),
  site_options: optional((value) => value === true, "true, or left out"),
  variants: optional(isVariants, "an object of families, each with default or options"),
  secret: optional((value) => value === true, "true, or left out"),
  destination_of: optional(isKeys, "a list of keys"),
  decimal: optional((value) => value === true, "true, or left out"),
  min: optional(Number.isFinite, "a number"),
  max: optional(Number.isFinite, "a number"),
  unit: optional((value) => isText(value) && value !== "", "text that is not empty"),
  format: optional((value) => isText(value) && Object.hasOwn(formats, value), "a known format"),
};

interface DefinitionPlace {
  /** The file's name, for messages. */
  readonly file: string;
  /** Family whose settings and forms are offered. */
  readonly offer: Offer;
  readonly labels: Labels;
  /** Whether the rules between members have been checked: a test does it for the program's file. */
  readonly checked: boolean;
}

const DATA_FILE = new URL("../data/settings.json", import.meta.url);

/**
 * Reads and checks the definitions, in the order of lists.
 *
 * @param file - default: the file of the program.
 * @param offer - family of settings and defaults; default: openlist.
 * @param checked - whether a test has checked the defaults; default: those of the program's file.
 * @throws Error that names the file and, for each wrong member, the setting's key and the member.
 */
export function loadSettingDefinitions(
  file: string | URL = DATA_FILE,
  offer: Offer = "openlist",
  checked = file === DATA_FILE,
): readonly SettingDefinition[] {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  const place = { file: path, offer, labels: readLabels(), checked };
  return readDefinitions(readFileSync(path, "utf8"), place);
}

/** Definitions of the program for a family, which a process reads once. */
export const definitionsOf = memoize((offer: Offer) => loadSettingDefinitions(DATA_FILE, offer));

/**
 * Reads the definitions from the text of their file.
 *
 * @throws Error with one line per problem: the setting's key and the member.
 */
function readDefinitions(text: string, place: DefinitionPlace): readonly SettingDefinition[] {
  const { file, offer } = place;
  const problems: string[] = [];
  const keys = new Set<unknown>();
  let position = 0;
  const definitions = entriesOf(text, file).map((entry, index) => {
    const name = `settings[${index}] ${JSON.stringify(entry.key) ?? "without a key"}`;
    const report: Report = (member, problem) =>
      problems.push(`${file}: ${name}, member ${JSON.stringify(member)} ${problem}`);
    if (keys.has(entry.key)) report("key", "occurs twice in the file");
    keys.add(entry.key);
    if (!hasRightMembers(entry, report)) return undefined;
    // The members have been checked one by one.
    const members = entry as unknown as Members;
    if (!isOffered(members.families, offer)) return undefined;
    const definition = define(members, position, place);
    position += 1;
    if (!place.checked) checkTogether(definition, members.site_options === true, report);
    return definition;
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return Object.freeze(definitions.filter((definition) => definition !== undefined));
}

type Variant = Partial<Pick<SettingDefinition, "default" | "options">>;

/** Setting in the form of the file. */
interface Members
  extends Omit<
    SettingDefinition,
    "description" | "optionLabels" | "groupLabel" | "index" | "destinationOf"
  > {
  readonly destination_of?: readonly string[];
  readonly legacy_help?: true;
  /** The options are data of each site: `options` is empty. */
  readonly site_options?: true;
  readonly variants?: Readonly<Partial<Record<Offer, Variant>>>;
}

function define(members: Members, index: number, { offer, labels }: DefinitionPlace) {
  const {
    legacy_help,
    site_options: _,
    destination_of: destinationOf = [],
    variants = {},
    ...facts
  } = members;
  const form = variants[offer] ?? {};
  const all = offer === "all" ? Object.values(variants).map(({ options }) => options) : [];
  const options = form.options ?? unionOf(facts.options, ...all);
  const { key, group, help, label = labels.nameOf(key) } = facts;
  return Object.freeze({
    ...facts,
    ...form,
    options,
    help: legacy_help === true ? help : "",
    description: help,
    label,
    optionLabels: labels.optionsOf(key, options),
    groupLabel: labels.groupOf(group),
    families: facts.families ?? FAMILIES,
    secret: facts.secret ?? false,
    destinationOf: Object.freeze(destinationOf),
    decimal: facts.decimal ?? false,
    index,
  });
}

function entriesOf(text: string, file: string): readonly Json[] {
  const document = parse(text, file);
  const { settings: entries } = isObject(document) ? document : { settings: undefined };
  if (!Array.isArray(entries) || !entries.every(isObject))
    throw new Error(
      `${file}: must be a JSON object whose member "settings" is an array of objects`,
    );
  return entries;
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file}: is not JSON: ${jsonErrorText(text)}`, { cause });
  }
}

function hasRightMembers(entry: Json, report: Report): boolean {
  let right = true;
  const wrong: Report = (member, problem) => {
    right = false;
    report(member, problem);
  };
  for (const name of Object.keys(entry))
    if (!Object.hasOwn(MEMBERS, name)) wrong(name, "is unknown");
  for (const [name, { required, accepts, form }] of Object.entries(MEMBERS)) {
    const present = Object.hasOwn(entry, name);
    if (!present && required) wrong(name, `is missing; it must be ${form}`);
    if (present && !accepts(entry[name])) wrong(name, `must be ${form}`);
  }
  return right;
}

/** Rules between members. */
function checkTogether(definition: SettingDefinition, siteOptions: boolean, report: Report): void {
  const { type, options, format, secret, min, max } = definition;
  if (siteOptions && type !== "select") report("site_options", "is for a select only");
  if ((type === "select" && !siteOptions) !== (options !== ""))
    report(
      "options",
      "must list the options of a select; must be empty for other types and with site_options",
    );
  for (const member of ["min", "max", "decimal", "unit"] as const)
    if (type !== "number" && definition[member]) report(member, "is for numbers only");
  if (min !== undefined && max !== undefined && min > max) report("max", "is smaller than min");
  if (format !== undefined && type !== "string" && type !== "text")
    report("format", "is for string and text only");
  if (secret && format !== undefined && formatOf(format).quotes)
    report("format", "can quote a part of the value in a message, so no secret may have it");
  checkDefault(definition, report);
}

function checkDefault(definition: SettingDefinition, report: Report): void {
  const problem = checkValue(definition, definition.default);
  if (problem !== undefined) report("default", String(problem));
  else if (normalizeValue(definition, definition.default) !== definition.default)
    report("default", "must not have leading or trailing white space");
}

function required(accepts: Member["accepts"], form: string): Member {
  return { required: true, accepts, form };
}

function optional(accepts: Member["accepts"], form: string): Member {
  return { required: false, accepts, form };
}

function wholeUpTo(max: number): Member["accepts"] {
  return (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
}

function isFamilies(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((name) => FAMILIES.includes(name));
}

function isKeys(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

function isVariants(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(
    ([family, variant]) =>
      isFamilies([family]) &&
      isObject(variant) &&
      Object.entries(variant).every(
        ([member, text]) => (member === "default" || member === "options") && isText(text),
      ),
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
