import { isOffered, type Offer } from "../config/family.ts";
import type { Labels } from "../messages/label.ts";
import type { ConfigItem, DriverConfig } from "./driver-info.ts";

/** Input for a driver's common items: its flags, and two additional members. */
export interface CommonTraits extends DriverConfig {
  /** Whether the driver has no download links of its own, so that the site always proxies files. */
  readonly noLinkUrl: boolean;
  /** Default of the item `proxy_range`; undefined: the item is not offered. */
  readonly proxyRange: boolean | undefined;
  readonly offer: Offer;
}

/** Names of all common items. A driver with such an item can't have another item of that name. */
export const COMMON_NAMES = [
  "mount_path",
  "order",
  "remark",
  "cache_expiration",
  "custom_cache_policies",
  "web_proxy",
  "webdav_policy",
  "proxy_range",
  "down_proxy_url",
  "disable_proxy_sign",
  "down_proxy_sign",
  "order_by",
  "order_direction",
  "extract_folder",
  "disable_index",
  "enable_sign",
] as const;

type CommonName = (typeof COMMON_NAMES)[number];

/** Changes of common items by a driver's traits; `undefined`: the item is omitted. */
type Variant = Partial<Pick<ConfigItem, "default" | "options">>;

/** Chooses the common items of a driver. Equal traits share one array. */
export type CommonItems = (traits: CommonTraits) => readonly ConfigItem[];

/** @param items - common items of the data file, by name. */
export function createCommonItems(
  items: ReadonlyMap<string, ConfigItem>,
  labels: Labels,
): CommonItems {
  const lists = new Map<string, readonly ConfigItem[]>();
  const variants = new Map<string, ConfigItem>();

  function variantOf(name: CommonName, variant: Variant): ConfigItem {
    const key = JSON.stringify([name, variant]);
    const base = items.get(name);
    if (base === undefined) throw new Error(`the common item ${name} has no definition`);
    const optionLabels = labels.optionsOf(name, variant.options ?? base.options);
    const item = variants.get(key) ?? Object.freeze({ ...base, ...variant, optionLabels });
    variants.set(key, item);
    return item;
  }

  return (traits) => {
    const choice = choose(traits).filter(([name]) =>
      isOffered(items.get(name)?.families, traits.offer),
    );
    const key = JSON.stringify(choice);
    const list =
      lists.get(key) ?? Object.freeze(choice.map(([name, variant]) => variantOf(name, variant)));
    lists.set(key, list);
    return list;
  };
}

function choose(traits: CommonTraits): [CommonName, Variant][] {
  const plain = (...names: CommonName[]): [CommonName, Variant][] =>
    names.map((name) => [name, {}]);
  return [
    ...plain("mount_path", "order", "remark"),
    ...(traits.noCache ? [] : plain("cache_expiration", "custom_cache_policies")),
    ...chooseProxy(traits),
    ...plain("down_proxy_url", "disable_proxy_sign", "down_proxy_sign"),
    ...(traits.localSort ? plain("order_by", "order_direction") : []),
    ...plain("extract_folder", "disable_index", "enable_sign"),
  ];
}

/** If the site always proxies files, the storage has no link to redirect to. */
function chooseProxy(traits: CommonTraits): [CommonName, Variant][] {
  // AList marks drivers without links of their own as local.
  const local = traits.offer === "alist" ? traits.onlyLocal : traits.noLinkUrl;
  if (traits.onlyProxy || local) {
    const policy = { options: "use_proxy_url,native_proxy", default: "native_proxy" };
    return [["webdav_policy", policy]];
  }
  const prefer = traits.preferProxy;
  const range = traits.proxyRange;
  return [
    ["web_proxy", prefer ? { default: "true" } : {}],
    ["webdav_policy", prefer ? { default: "native_proxy" } : {}],
    ...(range === undefined
      ? []
      : ([["proxy_range", range ? { default: "true" } : {}]] satisfies [CommonName, Variant][])),
  ];
}
