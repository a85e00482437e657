<?php
// An app that asks for one URL: client.php curl|streams URL [FILE]. It prints the body of the answer; with FILE it posts that.
[, $how, $url] = $argv;
$body = isset($argv[3]) ? file_get_contents($argv[3]) : null;
if ($how === 'curl') {
    $handle = curl_init($url);
    curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
    curl_setopt($handle, CURLOPT_FAILONERROR, true);
    if ($body !== null) {
        curl_setopt($handle, CURLOPT_POSTFIELDS, $body);
    }
    $answer = curl_exec($handle);
    $error = curl_error($handle);
} else {
    $http = ['proxy' => str_replace('http://', 'tcp://', getenv('https_proxy')), 'request_fulluri' => true];
    if ($body !== null) {
        $http += ['method' => 'POST', 'content' => $body, 'header' => 'Content-Type: application/octet-stream'];
    }
    $answer = file_get_contents($url, false, stream_context_create(['http' => $http]));
    $error = 'see above';
}
if ($answer === false) {
    fwrite(STDERR, "$error\n");
    exit(1);
}
echo $answer;
