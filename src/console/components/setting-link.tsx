import { may } from "../api/rights.ts";
import { href } from "../shell/location.ts";

/** Key of a setting, with a link to it if the token may read it. */
export function SettingLink({ of }: { readonly of: string }) {
  const key = <code>{of}</code>;
  return may("settings:read") ? <a href={href("settings", { key: of })}>{key}</a> : key;
}
