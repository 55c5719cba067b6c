import { createRuleView } from "../rules/rule-view.ts";
import { createServerService, type ServerService } from "../servers/service.ts";
import type { Logger } from "../telemetry/log.ts";
import { randomPassword } from "../users/password.ts";
import { createUserService, type UserService } from "../users/service.ts";
import type { Foundation } from "./foundation.ts";
import type { SiteWork } from "./site-work.ts";

/** The accounts and the unmanaged contents of servers. */
export function openServerContents(
  { registry, store, services: { ledger } }: Pick<Foundation, "registry" | "store" | "services">,
  { sites, rules }: Pick<SiteWork, "sites" | "rules">,
  log: Logger,
): { readonly users: UserService; readonly servers: ServerService } {
  const { clientOf } = sites.sync;
  const users = createUserService({
    registry,
    clientOf,
    store: store.sites,
    revision: () => ledger.snapshot().revision,
    now: Date.now,
    randomPassword,
    onCreated: (siteId) =>
      void rules.retry(siteId).catch((error: unknown) => {
        log.error({ err: error }, "failed to retry folder rules");
      }),
  });
  const { wantedOf } = createRuleView(ledger);
  const servers = createServerService({
    registry,
    clientOf,
    users,
    managedRules: (site) => wantedOf(site).map(({ path }) => path),
    manageRules: rules.manage,
  });
  return { users, servers };
}
