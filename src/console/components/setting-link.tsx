import { may } from "../api/rights.ts";
import { href } from "../shell/location.ts";

/** A setting's key, with a way to it for who may see it. */
export function SettingLink({ of }: { readonly of: string }) {
  const key = <code>{of}</code>;
  return may("settings:read") ? <a href={href("settings", { key: of })}>{key}</a> : key;
}
