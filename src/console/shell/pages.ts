import type { ComponentType } from "preact";
import { may, type Need } from "../api/rights.ts";
import type { IconName } from "../components/button.tsx";
import type { MessageKey } from "../i18n/messages.ts";

/** Page of the console. Its code is loaded on first use. */
export interface Page {
  /** Its address below the console's folder. */
  readonly name: string;
  readonly title: MessageKey;
  /** Absent: no entry in the menu. */
  readonly icon?: IconName;
  /** Menu entry of a page without its own one. */
  readonly below?: string;
  /** Required rights, at least one of them. Absent: none. */
  readonly needs?: readonly Need[];
  /** Whether the entry is below the others, on small screens behind a button. */
  readonly rest?: boolean;
  load(): Promise<{ readonly default: ComponentType }>;
}

/** All pages, in the order of the menu; the first one is the start page. */
export const pages: readonly Page[] = [
  {
    name: "overview",
    title: "page.overview",
    icon: "overview",
    load: () => import("../overview/page.tsx"),
  },
  {
    name: "settings",
    title: "page.settings",
    icon: "settings",
    needs: ["settings:read"],
    load: () => import("../settings/page.tsx"),
  },
  {
    name: "review",
    title: "page.review",
    below: "settings",
    needs: ["settings:write"],
    load: () => import("../review/page.tsx"),
  },
  {
    name: "history",
    title: "page.history",
    icon: "history",
    needs: ["history:read"],
    load: () => import("../history/page.tsx"),
  },
  {
    name: "drivers",
    title: "page.drivers",
    icon: "drivers",
    needs: ["drivers:read"],
    load: () => import("../drivers/page.tsx"),
  },
  {
    name: "sites",
    title: "page.sites",
    icon: "sites",
    needs: ["sites:read"],
    rest: true,
    load: () => import("../sites/page.tsx"),
  },
  {
    name: "mounts",
    title: "page.mounts",
    icon: "mounts",
    needs: ["mounts:read", "incidents:read"],
    rest: true,
    load: () => import("../mounts/page.tsx"),
  },
  {
    name: "mount",
    title: "page.mount",
    below: "mounts",
    needs: ["mounts:read"],
    load: () => import("../mounts/one-page.tsx"),
  },
  {
    name: "share-links",
    title: "page.mount",
    below: "mounts",
    needs: ["mounts:write"],
    load: () => import("../mounts/share-links-page.tsx"),
  },
  {
    name: "users",
    title: "page.users",
    below: "sites",
    needs: ["users:read"],
    load: () => import("../users/page.tsx"),
  },
  {
    name: "rules",
    title: "page.rules",
    icon: "lock",
    needs: ["rules:read"],
    rest: true,
    load: () => import("../rules/page.tsx"),
  },
  {
    name: "rule",
    title: "page.rules",
    below: "rules",
    needs: ["rules:read"],
    load: () => import("../rules/one-page.tsx"),
  },
  {
    name: "webhooks",
    title: "page.webhooks",
    icon: "webhooks",
    needs: ["webhooks:manage"],
    rest: true,
    load: () => import("../webhooks/page.tsx"),
  },
  {
    name: "backup",
    title: "page.backup",
    icon: "backup",
    needs: ["backup:export", "backup:import"],
    rest: true,
    load: () => import("../backup/page.tsx"),
  },
  {
    name: "tokens",
    title: "page.tokens",
    icon: "key",
    needs: ["tokens:manage"],
    rest: true,
    load: () => import("../tokens/page.tsx"),
  },
  {
    name: "audit",
    title: "page.audit",
    icon: "audit",
    needs: ["audit:read"],
    rest: true,
    load: () => import("../audit/page.tsx"),
  },
];

/** Reports whether the current token may open a page. */
export function isOpen({ needs }: Page): boolean {
  return needs === undefined || needs.some((need) => may(need));
}
