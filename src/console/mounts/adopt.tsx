import { useSignal } from "@preact/signals";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { problemOf } from "../api/failure.ts";
import { mountService } from "../api/mounts.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ReasonField } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { Results } from "./results.tsx";
import { siteNames } from "./site-choice.tsx";

/** Adopts the mounts of a site after a preview. */
export function AdoptMounts() {
  const isOpen = useSignal(false);
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

function AdoptDialog({ onClose }: { readonly onClose: () => void }) {
  const site = useSignal("");
  const results = useSignal<readonly MountResult[] | undefined>(undefined);
  const wrong = useSignal("");
  const busy = useSignal(false);
  const { data: names = [] } = useCall(siteNames, []);
  const reason = useSignal("");
  /** Names that are left out of the adoption. */
  const left = useSignal<ReadonlySet<string>>(new Set());
  const act = async (dryRun: boolean): Promise<void> => {
    busy.value = true;
    try {
      const chosen = (results.peek() ?? []).flatMap(({ name }) =>
        left.peek().has(name) ? [] : [name],
      );
      const names = dryRun || left.peek().size === 0 ? [] : chosen;
      const request = { site: site.value, dryRun, names, reason: reason.value.trim() };
      results.value = (await mountService.adoptMounts(request)).results;
      wrong.value = "";
      if (!dryRun) onClose();
    } catch (thrown) {
      wrong.value = problemOf(thrown);
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
          left.value = new Set();
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
      {found !== undefined && found.length > 0 && (
        <>
          <Results
            results={found}
            left={left.value}
            onLeft={(names) => {
              left.value = names;
            }}
          />
          <ReasonField
            value={reason.value}
            onChange={(text) => {
              reason.value = text;
            }}
          />
        </>
      )}
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
      <div class="ways">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button disabled={busy.value || site.value === ""} onClick={() => void act(true)}>
          {t("mounts.look")}
        </Button>
        {found?.some(({ name, outcome }) => outcome !== "skipped" && !left.value.has(name)) && (
          <Button kind="main" disabled={busy.value} onClick={() => void act(false)}>
            {t("mounts.take")}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
