import { usersTexts } from "../i18n/en/users.ts";
import { t } from "../i18n/language.ts";

/** Permissions of a user in words; names that the console does not know stay. */
export function permissionsInWords(permissions: readonly string[]): string {
  return (
    permissions.map((name) => inWords(`permission.${name}`, name)).join(", ") ||
    t("user.noPermission")
  );
}

/** Roles of a user in words; names of own roles stay. */
export function rolesInWords(roles: readonly string[]): string {
  return roles.map((name) => inWords(`role.${name}`, name)).join(", ");
}

function inWords(key: string, name: string): string {
  return Object.hasOwn(usersTexts, key) ? t(key as keyof typeof usersTexts) : name;
}
