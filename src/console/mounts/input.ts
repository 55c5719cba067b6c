import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { type Mount, type MountInput, MountInputSchema } from "../../../gen/mooring/v1/mount_pb.js";
import { type SiteChoice, SiteChoiceSchema } from "../../../gen/mooring/v1/site_choice_pb.js";
import type { Values } from "../drivers/shown.ts";

/** Replaces a secret in replies of the service. */
export const MASK = "********";
/** Items of the form that are separate members of a mount. */
export const OWN_ITEMS = new Set(["mount_path", "driver", "disabled"]);

/** Choice of sites: all of them, or those with these names. */
export interface ChosenSites {
  readonly all: boolean;
  readonly names: ReadonlySet<string>;
}

export const NO_SITE: ChosenSites = { all: false, names: new Set() };

/** Sites of a mount. */
export function chosenOf(sites: SiteChoice | undefined): ChosenSites {
  return { all: sites?.all ?? false, names: new Set(sites?.names) };
}

/** Values of a mount for a form; secrets are empty. */
export function formValues(mount: Mount | undefined): Values {
  if (mount === undefined) return {};
  const entries = Object.entries({ ...mount.members, ...mount.config });
  return Object.fromEntries([
    ["mount_path", mount.mountPath],
    ...entries.flatMap(([name, value]) => (value === MASK ? [] : [[name, String(value)]])),
  ]);
}

/** Changes of a mount by a form, in the types of the catalogue. */
export function inputOf(
  name: string,
  values: Values,
  touched: ReadonlySet<string>,
  info: DriverInfo,
  {
    sites,
    disabled,
    mount,
  }: {
    readonly sites: ChosenSites;
    readonly disabled: boolean;
    readonly mount: Mount | undefined;
  },
): MountInput {
  const given = (items: readonly ConfigItem[]): JsonObject =>
    Object.fromEntries(
      items.flatMap((item): [string, JsonValue][] =>
        touched.has(item.name) && !OWN_ITEMS.has(item.name)
          ? [[item.name, typed(item, values[item.name] ?? "")]]
          : [],
      ),
    );
  return create(MountInputSchema, {
    name,
    disabled,
    config: given(info.additional),
    members: given(info.common),
    ...(touched.has("mount_path") && { mountPath: values["mount_path"] ?? "" }),
    ...(mount === undefined
      ? { driver: info.config?.name ?? "", expectedEtag: "0" }
      : { expectedEtag: mount.etag }),
    // The service asks for the sites of a new mount if there are several.
    ...((mount !== undefined || sites.all || sites.names.size > 0) && {
      sites: create(SiteChoiceSchema, {
        names: [...sites.names],
        all: sites.all,
        none: !sites.all && sites.names.size === 0,
      }),
    }),
  });
}

/** Empty text of a number removes the value; invalid text stays text, which the service reports. */
function typed(item: ConfigItem, text: string): JsonValue {
  if (item.type === "bool") return text === "true";
  if (item.type !== "number" && item.type !== "float") return text;
  if (text === "") return null;
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** The item that a violation is about, such as `root_folder_path` of `mounts[0].config.root_folder_path`. */
export function itemOf(field: string): string {
  const [, name = ""] = /^mounts\[0\]\.(?:config\.|members\.)?(.+)$/s.exec(field) ?? [];
  return name;
}
