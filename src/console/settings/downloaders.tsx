import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { settingService } from "../api/client.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";

/** Forms for aria2 and qBittorrent. The service tests the connection before it saves. */
export function Downloaders() {
  return (
    <section class="sheet downloaders" aria-label={t("downloader.title")}>
      {isThere("aria2_uri", "aria2_secret") && <Aria2 />}
      {isThere("qbittorrent_url", "qbittorrent_seedtime") && <Qbittorrent />}
    </section>
  );
}

function Aria2() {
  const uri = useSignal(known("aria2_uri"));
  const secret = useSignal("");
  const connect = async (): Promise<string> => {
    const request = { uri: uri.value.trim(), secret: secret.value };
    const { version } = await asOwn(settingService.setAria2(request));
    secret.value = "";
    return t("downloader.answers", { name: "aria2", version });
  };
  return (
    <Downloader name="aria2" connect={connect}>
      <Field
        label={t("downloader.address")}
        value={uri.value}
        onChange={(text) => {
          uri.value = text;
        }}
      />
      <Field
        label={t("downloader.secret")}
        value={secret.value}
        secret
        onChange={(text) => {
          secret.value = text;
        }}
      />
    </Downloader>
  );
}

function Qbittorrent() {
  const url = useSignal("");
  const minutes = useSignal(known("qbittorrent_seedtime"));
  const connect = async (): Promise<string> => {
    const seedtime = Number(minutes.value);
    const request = { url: url.value.trim(), seedtime };
    const { version } = await asOwn(settingService.setQbittorrent(request));
    url.value = "";
    return t("downloader.answers", { name: "qBittorrent", version });
  };
  return (
    <Downloader name="qBittorrent" connect={connect}>
      <Field
        label={t("downloader.addressWithName")}
        value={url.value}
        secret
        onChange={(text) => {
          url.value = text;
        }}
      />
      <Field
        label={t("downloader.seedtime")}
        value={minutes.value}
        onChange={(text) => {
          minutes.value = text.replace(/\D/g, "");
        }}
      />
    </Downloader>
  );
}

function Downloader(props: {
  readonly name: string;
  /** @returns a message about the result. */
  readonly connect: () => Promise<string>;
  readonly children: ComponentChildren;
}) {
  /** Message about the result; empty: none. */
  const answer = useSignal("");
  const { busy, problem, run } = useAction();
  const connect = () =>
    run(
      async () => {
        answer.value = await props.connect();
      },
      () => {
        answer.value = "";
      },
    );
  return (
    <details>
      <summary>{t("downloader.connect", { name: props.name })}</summary>
      <form
        class="block-form"
        onSubmit={(event) => {
          event.preventDefault();
          void connect();
        }}
      >
        {props.children}
        {answer.value !== "" && <Notice kind="good">{answer.value}</Notice>}
        {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
        <div>
          <Button type="submit" disabled={busy}>
            {t("downloader.test")}
          </Button>
        </div>
      </form>
    </details>
  );
}

function Field(props: {
  readonly label: string;
  readonly value: string;
  readonly secret?: boolean;
  readonly onChange: (text: string) => void;
}) {
  const id = useId();
  const common = {
    id,
    class: "input mono short",
    spellcheck: false,
    value: props.value,
    onInput: (event: { currentTarget: HTMLInputElement }) =>
      props.onChange(event.currentTarget.value),
  } as const;
  return (
    <div>
      <label class="label" for={id}>
        {props.label}
      </label>
      {props.secret ? (
        <input {...common} type="password" autocomplete="new-password" />
      ) : (
        <input {...common} autocomplete="off" />
      )}
    </div>
  );
}

/** Reports whether the token may change all of these settings. */
function isThere(...keys: readonly string[]): boolean {
  return keys.every((key) => settings.value?.byKey.has(key));
}

/** Value of a setting in the page. */
function known(key: string): string {
  return settings.peek()?.byKey.get(key)?.value ?? "";
}
