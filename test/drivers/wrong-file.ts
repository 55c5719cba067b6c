export const item = (members: object) => ({
  additional: [{ name: "a", type: "string", ...members }],
});
export const items = (...additional: object[]) => ({ additional });

/** Invalid files that both the JSON Schema and the program refuse. */
export const wrongForm: [file: unknown, member: string, reason: string][] = [
  [[], "", "must be an object, not an array"],
  [{ name: undefined }, "name", "is missing"],
  [{ name: "115" }, "name", "must be letters"],
  [{ name: "a/b" }, "name", "must be letters"],
  [{ name: "a " }, "name", "must be letters"],
  [{ name: "a".repeat(65) }, "name", "is longer than 64"],
  [{ aditional: [] }, "aditional", 'Did you mean "additional"?'],
  [{ config: { no_chache: true } }, "config.no_chache", "Did you mean"],
  [{ config: { no_cache: "true" } }, "config.no_cache", "must be true or false"],
  [{ config: [] }, "config", "must be an object"],
  [{ config: { name: "x" } }, "config.name", "is not a member"],
  [{ config: { alert: "Mind." } }, "config.alert", "level|text"],
  [{ config: { alert: "note|Mind." } }, "config.alert", "level|text"],
  [{ config: { alert: "info|" } }, "config.alert", "level|text"],
  [{ additional: {} }, "additional", "must be an array"],
  [{ additional: ["a"] }, "additional[0]", "must be an object"],
  [items(...Array(201).fill({ use: "cookie" })), "additional", "200 is the most"],
  [item({ name: undefined }), "additional[0].name", "is missing"],
  [item({ type: undefined }), "additional[0].type", "is missing"],
  [item({ name: "toString" }), "additional[0].name", "reserve"],
  [item({ name: "a-b" }), "additional[0].name", "underscores"],
  [item({ type: "password" }), "additional[0].type", "must be one of string"],
  [item({ hint: "" }), "additional[0].hint", "is not a member"],
  [item({ default: 3 }), "additional[0].default", "in double quotes"],
  [item({ help: "a".repeat(2001) }), "additional[0].help", "2000"],
  [items({ use: "cookie", name: "a" }), "additional[0].name", "not a member"],
  [items({ use: "cookies" }), "additional[0].use", '"cookie"'],
  [item({ show_when: "b" }), "additional[0].show_when", "item=value|value"],
  [item({ required_unless: "b c" }), "additional[0].required_unless", "separated by commas"],
  [item({ type: "number", min: "1" }), "additional[0].min", "must be a number"],
  [item({ type: "select" }), "additional[0].options", "must list"],
  [item({ options: "a,b" }), "additional[0].options", "make it a select"],
  [item({ max: 1 }), "additional[0].max", "only number and float"],
  [item({ type: "bool", secret: true }), "additional[0].secret", "for text only"],
  [item({ type: "bool", default: "1" }), "additional[0].default", "true or false"],
  [item({ type: "number", default: "x" }), "additional[0].default", "whole"],
  [item({ type: "number", default: "1.5" }), "additional[0].default", "whole"],
  [item({ type: "float", default: ".5" }), "additional[0].default", "decimal"],
  [item({ variants: { flist: {} } }), "additional[0].variants.flist", ""],
  [
    item({ variants: { alist: { help: "" } } }),
    "additional[0].variants.alist.help",
    "is not a member",
  ],
  [
    item({ variants: { alist: { legacy_help: "yes" } } }),
    "additional[0].variants.alist.legacy_help",
    "must be true or false",
  ],
  [{ variants: { alist: { order: "a" } } }, "variants.alist.order", "must be a list of item names"],
  [{ variants: { alist: { order: [1] } } }, "variants.alist.order", "must be a list of item names"],
  [item({ type: "number", min: 0.5 }), "additional[0].min", "whole number"],
  [{ families: ["flist"] }, "families", "openlist, alist"],
  [{ families: [] }, "families", "openlist, alist"],
  [{ guide: "http://example.com" }, "guide", "https://"],
  [{ variants: { flist: {} } }, "variants.flist", "not a member"],
  [
    { variants: { alist: { config: { local_sort: 1 } } } },
    "variants.alist.config.local_sort",
    "true or false",
  ],
  [
    item({ variants: { alist: { secret: true } } }),
    "additional[0].variants.alist.secret",
    "not a member",
  ],
];

export const pair = items({ use: "cookie" }, { name: "b", type: "string" });

/** Invalid files that only the program refuses. */
export const wrongSense: [file: object, member: string, reason: string][] = [
  [item({ type: "number", min: 2, max: 1 }), "additional[0].min", "must not be more than max (1)"],
  [item({ type: "number", min: 2, default: "1" }), "additional[0].default", "less than min (2)"],
  [item({ type: "float", max: 2, default: "2.5" }), "additional[0].default", "more than max (2)"],
  [
    item({ type: "select", options: "a,b", default: "c" }),
    "additional[0].default",
    "must be one of the options a,b",
  ],
  [item({ type: "select", options: "a,a" }), "additional[0].options", "twice"],
  [item({ type: "select", options: "a, b" }), "additional[0].options", "spaces"],
  [item({ type: "number", options: "1,two" }), "additional[0].options", '"two"'],
  [
    items({ use: "cookie" }, { name: "cookie", type: "string" }),
    "additional[1]",
    'is named "cookie" like an earlier item',
  ],
  [items({ name: "remark", type: "string" }), "additional[0]", "like a common item of this driver"],
  [
    items({ use: "cookie" }, { name: "b", type: "string", show_when: "cokie=x" }),
    "additional[1].show_when",
    'Did you mean "cookie"?',
  ],
  [{ ...pair, variants: { alist: { order: ["b"] } } }, "variants.alist.order", "lacks cookie"],
  [
    { ...pair, variants: { alist: { order: ["b", "cookie", "b"] } } },
    "variants.alist.order[2]",
    'names "b" twice',
  ],
  [
    { ...pair, variants: { alist: { order: ["b", "cokie"] } } },
    "variants.alist.order[1]",
    'Did you mean "cookie"?',
  ],
  [
    {
      ...items({ use: "cookie", families: ["openlist"] }, { name: "b", type: "string" }),
      variants: { alist: { order: ["b", "cookie"] } },
    },
    "variants.alist.order[1]",
    "which is not an item of this driver for alist",
  ],
  [item({ show_when: "a=1" }), "additional[0].show_when", "another item"],
  [
    item({ required: true, required_unless: "cokie" }),
    "additional[0].required_unless",
    "not an item of this driver",
  ],
  [item({ required: true, required_unless: "a" }), "additional[0].required_unless", "another item"],
  [
    items({ use: "cookie", required: true, required_unless: "b" }, { name: "b", type: "bool" }),
    "additional[0].required_unless",
    "text without a default",
  ],
  [
    items({ name: "b", type: "select", options: "x,y" }, { use: "cookie", show_when: "b=x|z" }),
    "additional[1].show_when",
    'waits for "z"',
  ],
  [
    items({ name: "b", type: "bool" }, { use: "cookie", show_when: "b=yes" }),
    "additional[1].show_when",
    'waits for "yes"',
  ],
  [
    items({ name: "b", type: "number", max: 3 }, { use: "cookie", show_when: "b=4" }),
    "additional[1].show_when",
    'waits for "4"',
  ],
  [
    items(
      { name: "a", type: "string", show_when: "b=1" },
      { name: "b", type: "string", show_when: "c=1" },
      { name: "c", type: "string", show_when: "a=1" },
    ),
    "additional[0].show_when",
    "depend on this one (circular)",
  ],
];
