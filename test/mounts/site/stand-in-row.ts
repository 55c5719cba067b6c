import { cleanPath } from "../../../src/sites/site-path.ts";

/** Servers whose calls below `/api/admin/storage/` the stand-in has. */
export type Family = "openlist" | "alist" | "alist-3.25";

/** A row of the table of mounts, in the server's database. */
export interface Row {
  id: number;
  mount_path: string;
  order: number;
  driver: string;
  cache_expiration: number;
  status: string;
  addition: string;
  remark: string;
  modified: string;
  disabled: boolean;
  enable_sign: boolean;
  web_proxy: boolean;
  webdav_policy: string;
  down_proxy_url: string;
  extract_folder: string;
  order_by: string;
  order_direction: string;
  disable_index?: boolean;
  proxy_range?: boolean;
  down_proxy_sign?: boolean;
  disable_proxy_sign?: boolean;
  custom_cache_policies?: string;
}

/** A driver in the server's memory, with the row at its start. */
export interface Live {
  row: Row;
  addition: Record<string, unknown>;
}

/** Members of a stored addition that are in no form. */
export const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  Strm: ["Version"],
  Quark: ["AdditionVersion"],
  FeijiPan: ["Token", "UUID"],
};

/** Changes that drivers make to their own configuration at start. */
export const OWN: Readonly<Record<string, (live: Live) => void>> = {
  Crypt: ({ addition }) => {
    for (const name of ["password", "salt"]) {
      const value = String(addition[name] ?? "");
      if (value !== "" && !value.startsWith("___Obfuscated___"))
        addition[name] = `___Obfuscated___${Math.random().toString(36).slice(2)}${value.length}`;
    }
  },
  Local: ({ addition }) => {
    if (addition["video_thumb_pos"] === "") addition["video_thumb_pos"] = "20%";
  },
  Strm: ({ addition }) => {
    if (addition["Version"] !== 5) Object.assign(addition, { PathPrefix: "/d", Version: 5 });
  },
  Quark: ({ row, addition }) => {
    if (addition["AdditionVersion"] !== 2) {
      addition["AdditionVersion"] = 2;
      Object.assign(row, { web_proxy: true, webdav_policy: "native_proxy" });
    }
  },
};

/** The zero of a type of an item. */
export function zeroOf(type: string): string | number | boolean {
  return type === "bool" ? false : type === "number" || type === "float" ? 0 : "";
}

/** A row from a body: absent members become empty, 0 or false. */
export function rowOf(body: Record<string, unknown>, family: Family): Row {
  const text = (name: string): string => String(body[name] ?? "");
  const yes = (name: string): boolean => body[name] === true;
  const count = (name: string): number => Number(body[name] ?? 0);
  return {
    id: count("id"),
    mount_path: cleanPath(text("mount_path")),
    order: count("order"),
    driver: text("driver"),
    cache_expiration: count("cache_expiration"),
    status: text("status"),
    addition: text("addition"),
    remark: text("remark"),
    modified: new Date().toISOString(),
    disabled: yes("disabled"),
    enable_sign: yes("enable_sign"),
    web_proxy: yes("web_proxy"),
    webdav_policy: text("webdav_policy"),
    down_proxy_url: text("down_proxy_url"),
    extract_folder: text("extract_folder"),
    order_by: text("order_by"),
    order_direction: text("order_direction"),
    ...(family !== "alist-3.25" && {
      disable_index: yes("disable_index"),
      proxy_range: yes("proxy_range"),
    }),
    ...(family === "alist" && { down_proxy_sign: yes("down_proxy_sign") }),
    ...(family === "openlist" && {
      disable_proxy_sign: yes("disable_proxy_sign"),
      custom_cache_policies: text("custom_cache_policies"),
    }),
  };
}
