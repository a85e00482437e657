# An app that asks for one URL: client.rb URL [FILE]. It prints the body of the answer; with FILE it posts that.
require 'net/http'

url = URI(ARGV[0])
answer = Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == 'https') do |http|
  if ARGV[1]
    http.post(url.request_uri, File.binread(ARGV[1]), 'Content-Type' => 'application/octet-stream')
  else
    http.get(url.request_uri)
  end
end
abort "status #{answer.code}" unless answer.code == '200'
$stdout.binmode.write(answer.body)
