import { useSignal } from "@preact/signals";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { failureOf } from "../api/failure.ts";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Notice } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { Results } from "./results.tsx";

/** Takes the mounts of a site, after they were shown. */
export function AdoptMounts() {
  const isOpen = useSignal(false);
  if (!may("sites:read")) return null;
  return (
    <>
      <Button
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {t("mounts.adopt")}
      </Button>
      {isOpen.value && (
        <AdoptDialog
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

async function siteNames(signal: AbortSignal): Promise<readonly string[]> {
  const { siteService } = await import("../api/sites.ts");
  const { sites } = await siteService.listSites({}, { signal });
  return sites.map(({ name }) => name);
}

function AdoptDialog({ onClose }: { readonly onClose: () => void }) {
  const site = useSignal("");
  const results = useSignal<readonly MountResult[] | undefined>(undefined);
  const wrong = useSignal("");
  const busy = useSignal(false);
  const { data: names = [] } = useCall(siteNames, []);
  const act = async (dryRun: boolean): Promise<void> => {
    busy.value = true;
    try {
      results.value = (await mountService.adoptMounts({ site: site.value, dryRun })).results;
      wrong.value = "";
      if (!dryRun) onClose();
    } catch (thrown) {
      wrong.value = failureOf(thrown).message || t("state.offline");
    } finally {
      busy.value = false;
    }
  };
  const found = results.value;
  return (
    <Dialog title={t("mounts.adopt")} onClose={onClose}>
      <p class="quiet">{t("mounts.adoptAbout")}</p>
      <label class="label" for="adopt-site">
        {t("page.sites")}
      </label>
      <select
        id="adopt-site"
        class="input"
        value={site.value}
        onChange={(event) => {
          site.value = event.currentTarget.value;
          results.value = undefined;
        }}
      >
        <option value="">{t("drivers.choose")}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {found?.length === 0 && <p class="quiet">{t("mounts.same")}</p>}
      {found !== undefined && found.length > 0 && <Results results={found} />}
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
      <div class="ways">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button disabled={busy.value || site.value === ""} onClick={() => void act(true)}>
          {t("mounts.look")}
        </Button>
        {found?.some(({ outcome }) => outcome !== "skipped") && (
          <Button kind="main" disabled={busy.value} onClick={() => void act(false)}>
            {t("mounts.take")}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
