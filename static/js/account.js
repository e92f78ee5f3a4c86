// The account page: take over the time zone of this device.

const button = document.getElementById("device-zone");
const field = document.getElementById("time_zone");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

if (button && field instanceof HTMLInputElement && zone) {
  button.hidden = false;
  button.addEventListener("click", () => {
    field.value = zone;
    field.focus();
  });
}
