import { FAMILIES, type Family, isOffered, type Offer, unionOf } from "../config/family.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { ConfigText, DriverText, ItemText } from "./file-format.ts";
import type { Finding } from "./problem.ts";

/**
 * Driver file as offered by a deployment: without the items that its family does not have, with the
 * family's form of the others, and in the order of the family's form.
 *
 * When all families are offered, the file's first form and order are used, a select has the options
 * of all families, and requirements apply only if all families have them.
 */
export function offered(text: DriverText, offer: Offer): DriverText {
  const config = offer === "all" ? ofAll(text) : text.variants?.[offer]?.config;
  const all = text.additional ?? [];
  // A driver that is offered outside of its family keeps that family's form.
  const home = offer === "all" || text.families === undefined || text.families.includes(offer);
  const kept = home ? ordered(itemsFor(text, offer), orderFor(text, offer)) : all;
  const names = new Set(kept.map(nameOf));
  const dropped = new Set(all.map(nameOf).filter((name) => !names.has(name)));
  return {
    ...text,
    ...(config === undefined ? {} : { config: { ...text.config, ...config } }),
    ...(offer === "all" && givesLinks(text) ? { no_link_url: false } : {}),
    additional: kept.map((item) => always(inForm(item, offer), dropped)),
  };
}

/**
 * Checks the orders of all families, including those that are not offered: each order lists exactly
 * the items of its family.
 */
export function checkOrders(text: DriverText): Finding[] {
  return FAMILIES.flatMap((family) => {
    const order = orderFor(text, family);
    return order === undefined ? [] : checkOrder(order, itemsFor(text, family).map(nameOf), family);
  });
}

function checkOrder(order: readonly string[], names: readonly string[], family: Family): Finding[] {
  const path = ["variants", family, "order"];
  const findings: Finding[] = order.flatMap((name, index) => {
    if (order.indexOf(name) < index)
      return [{ path: [...path, index], reason: `names "${name}" twice` }];
    if (names.includes(name)) return [];
    const hint = didYouMean(name, names);
    const reason = `names "${name}", which is not an item of this driver for ${family}.${hint}`;
    return [{ path: [...path, index], reason }];
  });
  const absent = names.filter((name) => !order.includes(name));
  if (absent.length > 0) {
    const reason = `lacks ${absent.join(", ")}: name every item that ${family} has`;
    findings.push({ path, reason });
  }
  return findings;
}

function itemsFor({ additional = [] }: DriverText, offer: Offer): readonly ItemText[] {
  return additional.filter(({ families }) => isOffered(families, offer));
}

/** Item names in the order of the family's form; undefined: the order of the file. */
function orderFor({ variants = {} }: DriverText, offer: Offer): readonly string[] | undefined {
  return offer === "all" ? undefined : variants[offer]?.order;
}

function ordered(
  items: readonly ItemText[],
  order: readonly string[] | undefined,
): readonly ItemText[] {
  if (order === undefined) return items;
  const places = new Map(order.map((name, place) => [name, place]));
  const placeOf = (item: ItemText): number => places.get(nameOf(item)) ?? order.length;
  return items.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Flags that restrict a driver. */
const RESTRICTIONS = ["only_proxy", "no_cache", "no_upload"] as const;

function ofAll({ config = {}, variants = {} }: DriverText): ConfigText {
  const others = Object.values(variants).map((variant) => variant.config ?? {});
  const entries = RESTRICTIONS.map((flag) => {
    const everywhere = others.every((other) => (other[flag] ?? config[flag]) === true);
    return [flag, config[flag] === true && everywhere] as const;
  });
  const sorted = [config, ...others].some(({ local_sort }) => local_sort === true);
  return { ...Object.fromEntries(entries), local_sort: sorted };
}

/** AList has no such flag: drivers without links are local there. */
function givesLinks({ config, variants, families }: DriverText): boolean {
  return families?.includes("alist") === true
    ? !(variants?.alist?.config?.only_local ?? config?.only_local ?? false)
    : false;
}

function nameOf({ use, name }: ItemText): string {
  return use ?? name ?? "";
}

function inForm(item: ItemText, offer: Offer): ItemText {
  if (offer !== "all") {
    const form = item.variants?.[offer];
    return form === undefined ? item : { ...item, ...form };
  }
  const forms = Object.values(item.variants ?? {});
  const everywhere = item.families === undefined && forms.every((form) => form.required !== false);
  const options = unionOf(item.options, ...forms.map((form) => form.options));
  return {
    ...item,
    ...(everywhere ? {} : { required: false }),
    ...(options === "" ? {} : { options }),
  };
}

/** Removes conditions on items that are not offered, and alternatives of an optional item. */
function always(item: ItemText, dropped: ReadonlySet<string>): ItemText {
  const { show_when: shown, required_unless: unless, ...rest } = item;
  const [, other = ""] = /^([^=]*)=/.exec(shown ?? "") ?? [];
  const alternatives = (item.required ? (unless ?? "") : "")
    .split(",")
    .filter((name) => name !== "" && !dropped.has(name));
  return {
    ...rest,
    ...(shown === undefined || dropped.has(other) ? {} : { show_when: shown }),
    ...(alternatives.length === 0 ? {} : { required_unless: alternatives.join(",") }),
  };
}
