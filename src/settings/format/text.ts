import type { Format } from "./format.ts";

/** Text of one form that a pattern tells. Empty text is always fine. */
function textFormat(form: RegExp, problem: string): Format {
  return {
    check: (value) => (value === "" || form.test(value) ? undefined : problem),
    normalize: (value) => value.trim(),
    quotes: false,
  };
}

/**
 * A colour in CSS. The value is written into a script of every page, so quotes and brackets that
 * could end it there are refused, whatever CSS says.
 */
export const color: Format = textFormat(
  /^(?:#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|[a-z]{1,40}|[a-z-]{1,40}\([\w\s.,%/#+()-]{1,200}\))$/i,
  "must be a CSS colour, such as #1890ff, teal or rgb(24 144 255)",
);

/** Name of a character set as registered with IANA (RFC 2978, section 2.3). */
export const charset: Format = textFormat(
  /^[a-z0-9][a-z0-9!#$%&'+^_`{}~.:()-]{0,63}$/i,
  "must be the name of a character set, such as IBM437, GBK or Shift_JIS",
);

/** An IP address or a host name, international ones included. */
export const host: Format = textFormat(
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]{0,252}$|^[0-9a-f:.]{2,45}$/iu,
  "must be an IP address or a host name, without http:// and without a port",
);

/** A server of a directory. */
export const ldapServer: Format = textFormat(
  /^(?:ldaps?:\/\/)?(?:\[[0-9a-f:.]{2,45}\]|[^\s:/?#@[\]]{1,253})(?::\d{1,5})?$/i,
  "must be a server such as ldap://host:389 or ldaps://host:636",
);

/** LDAP filter (RFC 4515) with a placeholder for the user name. */
export const ldapFilter: Format = textFormat(
  /^\(.*%(?:\[1\])?s.*\)$/s,
  "must be an LDAP filter in parentheses with %s for the user's name, such as (uid=%s)",
);
