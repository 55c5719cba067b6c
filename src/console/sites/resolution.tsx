import { useSignal } from "@preact/signals";
import type { Site, SiteResult } from "../../../gen/mooring/v1/site_pb.js";
import { asOwn } from "../api/live.ts";
import { may } from "../api/rights.ts";
import { siteService } from "../api/sites.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Check, ReasonField } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";

/** Resolves differences by a call about settings; without keys, about all. */
export type Resolve = (
  send: (keys: string[]) => Promise<{ readonly results: readonly SiteResult[] }>,
) => Promise<void>;

/** Adoption of values that are equal, after which a site can follow. */
export function EqualValues(props: {
  readonly site: Site;
  readonly busy: boolean;
  readonly act: Resolve;
}) {
  const { site, busy, act } = props;
  const isNew = (site.status?.appliedRevision ?? 0n) === 0n;
  if (!isNew || !may("settings:write")) return null;
  const adopt = () => act((keys) => asOwn(siteService.adoptSite({ name: site.name, keys })));
  return (
    <div class="block">
      <p class="quiet">{t("site.equalAbout")}</p>
      <div>
        <Button disabled={busy} onClick={() => void adopt()}>
          {t("site.equal")}
        </Button>
      </div>
    </div>
  );
}

/** The two ways to resolve the chosen differences: adopting the values of the site, or writing them. */
export function Resolution(props: {
  /** Name of the site. */
  readonly name: string;
  /** Chosen settings. */
  readonly keys: readonly string[];
  readonly busy: boolean;
  readonly act: Resolve;
}) {
  const { name, keys, busy, act } = props;
  const reason = useSignal("");
  const connects = useSignal(false);
  const openDialog = useSignal<"adopt" | "sync" | undefined>(undefined);
  const count = keys.length;
  const adopt = () =>
    act((chosen) =>
      asOwn(siteService.adoptSite({ name, keys: chosen, reason: reason.value.trim() })),
    );
  const sync = () =>
    act((chosen) =>
      siteService.syncSite({ name, keys: chosen, connectDownloaders: connects.value }),
    );
  const button = (way: "adopt" | "sync") => (
    <Button
      disabled={busy || count === 0}
      onClick={() => {
        openDialog.value = way;
      }}
    >
      {t(`site.${way}`, { count })}
    </Button>
  );
  return (
    <>
      <div class="block">
        {may("settings:write") && (
          <ReasonField
            value={reason.value}
            onChange={(text) => {
              reason.value = text;
            }}
          />
        )}
        <div class="ways">
          {may("settings:write") && button("adopt")}
          {may("settings:reveal") && button("sync")}
        </div>
        {may("settings:reveal") && (
          <Check
            label={t("site.connectDownloaders")}
            checked={connects.value}
            onChange={(checked) => {
              connects.value = checked;
            }}
          />
        )}
      </div>
      {openDialog.value !== undefined && (
        <Confirm
          title={t(`site.${openDialog.value}Title`, { site: name })}
          action={t(`site.${openDialog.value}`, { count })}
          onAction={openDialog.value === "adopt" ? adopt : sync}
          onClose={() => {
            openDialog.value = undefined;
          }}
        >
          <p>{t(`site.${openDialog.value}About`, { site: name })}</p>
          <p class="mono small">{keys.join(", ")}</p>
        </Confirm>
      )}
    </>
  );
}

/** Settings that were not resolved, or only in part, with the reasons. */
export function Reasons({ of }: { readonly of: readonly SiteResult[] }) {
  const unresolved = of.filter(({ reason }) => reason !== "");
  if (unresolved.length === 0) return null;
  return (
    <Notice kind="warning">
      <ul>
        {unresolved.map(({ key, reason }) => (
          <li key={key}>
            <code>{key}</code>: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
