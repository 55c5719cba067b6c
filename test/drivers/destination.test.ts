import { expect, test } from "vitest";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import type { ConfigItem, DriverInfo } from "../../src/drivers/driver-info.ts";
import { isSentSecret } from "../../src/mounts/destination.ts";

const { drivers } = readBuiltIn({ offer: "all" });

/** Items whose name or description is about an address. */
function isAboutAddress({ name, type, description }: ConfigItem): boolean {
  if (type === "string" || type === "text")
    return /address|url|uri|host|server|endpoint|domain|region|proxy|(?:^|_)api(?:$|_)|https?:/i.test(
      `${name} ${description}`,
    );
  return /address|url|host|server|endpoint|domain|region|vendor|tls|verify|proxy$|online|_env$/i.test(
    name,
  );
}

/** Items about addresses of which no secret of the driver is sent there. */
const OTHER: ReadonlySet<string> = new Set([
  // Folders, accounts and other names of the service.
  "*: root_folder_path",
  "*: root_folder_id",
  "*: username",
  "*: email",
  "*: user_name",
  "*: client_id",
  "*: ClientID",
  "*: app_id",
  "*: access_key_id",
  "*: user_id",
  "*: user_agent",
  "*: custom_ua",
  "*: custom_crack_ua",
  "*: placeholder",
  "*: encoding",
  "*: project_id",
  "139Yun: user_domain_id",
  "BaiduShare: surl",
  "BaiduPhoto: album_id",
  "SMB: share_name",
  "ChaoXingGroupDrive: bbsid",
  "FebBox: user_ip",
  "FeijiPan: ip",
  "ILanZou: ip",
  "Gitee: owner",
  "Gitee: repo",
  "GitHub API: committer_email",
  "GitHub API: author_email",
  "Onedrive: site_id",
  "Seafile: repoId",
  "Streamtape: api_login",
  "WuKongNetdisk: aid",
  "Strm: SaveStrmLocalPath",
  "WPS: mode",
  // Addresses and signatures in links for visitors, without a secret.
  "123PanLink: origin_urls",
  "Bunny Storage: cdn_base_url",
  "Lark: tenant_url_prefix",
  "Onedrive: custom_host",
  "OnedriveAPP: custom_host",
  "Strm: siteUrl",
  "ThunderBrowser: use_video_url",
  "*: use_video_url",
  "Strm: withoutUrl",
  "*: use_transcoding_address",
  "BaiduYouth: force_proxy",
  "*: sign_url_expire",
  "*: enable_custom_host_presign",
  // Compared by the service, never called.
  "Onedrive: redirect_uri",
]);

const hasSecret = (driver: DriverInfo): boolean =>
  driver.additional.some(({ name }) => isSentSecret(driver, name));

test("every item that decides where a driver sends its secrets is marked in its file", () => {
  const unmarked = drivers.filter(hasSecret).flatMap(({ config, additional }) =>
    additional
      .filter((item) => !item.destination && !item.secret && isAboutAddress(item))
      .filter(({ name }) => !OTHER.has(`${config.name}: ${name}`) && !OTHER.has(`*: ${name}`))
      .map(({ name }) => `${config.name}: ${name}`),
  );
  expect(unmarked).toEqual([]);
});

test("only drivers with secrets have such items, which are no secrets themselves", () => {
  const marked = drivers.filter(({ additional }) => additional.some((item) => item.destination));
  expect(marked.length).toBeGreaterThan(40);
  expect(marked.filter((driver) => !hasSecret(driver))).toEqual([]);
  const secret = marked.flatMap(({ additional }) =>
    additional.filter((item) => item.destination && item.secret),
  );
  expect(secret).toEqual([]);
});
